// A prompt continued token by token.
#pragma once

#include <functional>

#include "model/generation/sampler.h"
#include "model/transformer/session.h"

namespace sharpmax::model {

enum class Ending { stop_token, as_many_as_wanted, context_full };

struct GenerationTimes {
  double prompt_seconds = 0;     // to the first logits
  double generated_seconds = 0;  // all that came after
  std::int64_t prompt_tokens = 0;
  std::int64_t generated_tokens = 0;
};

struct Generation {
  std::int64_t most = 256;              // tokens
  std::vector<Token> stops;             // generation ends before these
  std::int64_t known = 0;               // only tokens below are chosen: embeddings may be padded; 0: all
  std::function<void(Token)> on_token;  // each token as it is chosen
  std::function<void(std::int64_t)> on_prompt;  // how many tokens of the prompt are read, now and then
};

// Error{bad_argument} for an empty prompt, or one that does not fit.
Ending generate(Session& session, std::span<const Token> prompt, Sampler& sampler, const Generation& wish,
                GenerationTimes& times);

}  // namespace sharpmax::model
