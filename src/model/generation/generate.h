// Loops round a session: the next token is chosen, text is continued, losses of a text are measured.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/layer_pass.h"
#include "model/transformer/session.h"
#include "sharpmax/perplexity.h"

namespace sharpmax::model {

// Choosing the next token. Draws are made by counter, so a seed gives the same text however often a run is
// cut.

struct Sampling {
  double temperature = 0;  // 0: always the likeliest; of equals the lowest number
  std::int64_t top_k = 0;  // only the k likeliest; 0: all
  double top_p = 1;        // only the likeliest that together reach p
  std::uint64_t seed = 0;
};

// The likeliest token. NaN logits are passed over; all NaN: token 0.
Token likeliest(std::span<const float> logits) noexcept;

class Sampler {
 public:
  explicit Sampler(const Sampling& sampling);  // Error{bad_argument} for what makes no sense
  // Temperature first, then top-k, then top-p.
  Token pick(std::span<const float> logits);

 private:
  struct Candidate {
    double weight;
    Token token;
  };
  // Of equals the lower number.
  static bool heavier(const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  }
  void keep_top_k();
  double keep_top_p(double total);  // the weight that is kept

  Sampling sampling_;
  CounterRandom random_;
  std::uint64_t drawn_ = 0;
  std::vector<Candidate> candidates_;
};

// A prompt continued token by token.

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

// Losses of the tokens of a chunk, for perplexity().

// -ln softmax(logits)[token]; NaN where the logits hold one.
double loss_of(std::span<const float> logits, Token token);

// Losses of one chunk; the session is rewound first. `on_token` is called with how many are through.
ChunkLosses chunk_losses(Session& session, std::span<const Token> chunk, std::int64_t first,
                         const std::function<void(std::int64_t)>& on_token = {});
// The same layer by layer. Of the listener: on_block and on_layer.
ChunkLosses chunk_losses(LayerPass& pass, std::span<const Token> chunk, std::int64_t first,
                         const LayerPass::Listener& listener);

}  // namespace sharpmax::model
