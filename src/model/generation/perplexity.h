// Losses of the tokens of a chunk, for perplexity().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/transformer/session.h"
#include "sharpmax/perplexity.h"

namespace sharpmax::model {

// -ln softmax(logits)[token]; NaN where the logits hold one.
double loss_of(std::span<const float> logits, Token token);

// Losses of one chunk; the session is rewound first. `on_token` is called with how many are through.
ChunkLosses chunk_losses(Session& session, std::span<const Token> chunk, std::int64_t first,
                         const std::function<void(std::int64_t)>& on_token = {});

}  // namespace sharpmax::model
