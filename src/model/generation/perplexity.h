// How well a model predicts a text, by how much of it the model has seen.
//
// The text is cut into chunks of `length` tokens, each read from an empty cache. A token's loss is -ln of the
// probability that the model gave it after all tokens of its chunk before it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/transformer/session.h"

namespace sharpmax::model {

// -ln softmax(logits)[token]; NaN where the logits hold one.
double loss_of(std::span<const float> logits, Token token);

struct ChunkLosses {
  std::int64_t first = 0;      // of the text's tokens
  std::vector<float> losses;   // of tokens 1, 2, … of the chunk: losses[i] has i + 1 tokens before it
  std::int64_t likeliest = 0;  // how many of them the model put first
};

// Losses of one chunk; the session is rewound first. `on_token` is called with how many are through.
ChunkLosses chunk_losses(Session& session, std::span<const Token> chunk, std::int64_t first,
                         const std::function<void(std::int64_t)>& on_token = {});

// Tokens with at least `from` and fewer than `to` tokens before them.
struct PositionBucket {
  std::int64_t from = 0, to = 0;
  std::int64_t tokens = 0;
  double loss = 0;  // mean, in nats
  double low = 0,
         high =
             0;  // 95 %, over runs of kRunLength tokens: neighbours are not independent; NaN below two runs
};
inline constexpr std::int64_t kRunLength = 32;

// 0–128, 128–512, 512–2048, …, by fours up to the longest chunk.
std::vector<PositionBucket> buckets_of(std::span<const ChunkLosses> chunks);
// The same over every token: from 0 to the longest.
PositionBucket bucket_of_all(std::span<const ChunkLosses> chunks);

}  // namespace sharpmax::model
