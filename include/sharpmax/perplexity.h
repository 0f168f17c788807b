// perplexity(): how well a model predicts a text, by how much of it the model has seen.
//
// The text is cut into chunks of `length` tokens, each read from an empty cache. A token's loss is -ln of the probability
// that the model gave it after all tokens of its chunk before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sharpmax/model.h"
#include "sharpmax/sweep.h"

namespace sharpmax {

inline constexpr const char* kPerplexitySchema = "sharpmax.perplexity/1";

// The text that is read, and its pieces.
struct PerplexityChoices {
  TextRequest text;
  std::int64_t skip = 0;
  std::optional<std::int64_t> length;

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    TextRequest::each_field(self.text, visit);
    visit({"skip", "N", "Text", "Tokens of the text to leave out before the first chunk (default 0)", range(0, 1LL << 40)},
          self.skip);
    visit(common({"length", "N", "Text", "Tokens of a chunk (default: the context)", range(2, 1 << 30)}), self.length);
  }
};

struct PerplexityRequest : PerplexityChoices {
  ModelRequest model;
  Saving saving;
  Sharing sharing;
  ReadingOrder order;
  std::string command;  // for the results; empty: made from the fields

  template <class Self, class Visit>
  static void each_field(Self& self, const Visit& visit) {
    ModelRequest::each_field(self.model, visit);
    PerplexityChoices::each_field(self, visit);
    Saving::each_field(self.saving, visit);
    Sharing::each_field(self.sharing, visit);
    ReadingOrder::each_field(self.order, visit);
  }
};

struct ChunkLosses {
  std::int64_t first = 0;      // of the text's tokens
  std::int64_t likeliest = 0;  // how many tokens the model put first
  std::vector<float> losses;   // of tokens 1, 2, … of the chunk: losses[i] has i + 1 tokens before it

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("first", self.first);
    visit("likeliest", self.likeliest);
    visit("losses", self.losses);
  }
};

// Tokens with at least `from` and fewer than `to` tokens before them.
struct PositionBucket {
  std::int64_t from = 0, to = 0;
  std::int64_t tokens = 0;
  double loss = 0;           // mean, in nats per token
  double low = 0, high = 0;  // 95 %, over runs of kRunLength tokens, since neighbors are not independent; NaN below two runs
};
inline constexpr std::int64_t kRunLength = 32;

// 0–128, 128–512, 512–2048, …, by fours up to the longest chunk.
std::vector<PositionBucket> buckets_of(std::span<const ChunkLosses> chunks);
// The same over every token: from 0 to the longest.
PositionBucket bucket_of_all(std::span<const ChunkLosses> chunks);

// What the losses depend on: a job is resumed only under the same. `tokens` and `length` are those that were read.
struct PerplexitySettings : PerplexityChoices {
  ModelSettings model;
  std::string fingerprint;  // of the tokens

  template <class Self, class Visit>
  static void each_member(Self& self, const Visit& visit) {
    visit("model", self.model);
    visit.fields(self);
    visit("fingerprint", self.fingerprint);
  }
};

struct PerplexityResult {
  Provenance provenance;
  PerplexitySettings settings;
  bool complete = false;
  double seconds = 0;
  std::vector<ChunkLosses> chunks;  // in the order of the text

  double likeliest_right() const;  // share of tokens that the model put first
};

// Throws Error, and Interrupted if the listener does; finished chunks are then in `saving.json`, or in the directory of
// `sharing`.
PerplexityResult perplexity(const PerplexityRequest& request, Listener& listener = nobody());

// How far the job in `sharing.directory` is. Throws RequestError if there is none.
RunStatus status_of(const PerplexityRequest& request);

Json to_json(const PerplexityResult& result);  // schema sharpmax.perplexity/1
PerplexityResult perplexity_result(const Json& json);  // throws Error{bad_file}

}  // namespace sharpmax
