// Mixtures of experts: which experts a token goes to, and what they give. Experts stay where the file has them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/threads.h"
#include "model/architecture/architecture.h"
#include "model/product/product.h"
#include "model/transformer/model.h"

namespace sharpmax::model {

// body(t) for every token; few are done without starting a team, which costs more.
template <class Body>
void for_each_token(int threads, std::int64_t tokens, const Body& body) {
  constexpr std::int64_t kPerTask = 16;  // tokens that one thread takes at a time
  if (tokens <= kPerTask) {
    for (std::int64_t t = 0; t < tokens; ++t) body(t);
    return;
  }
  parallel_for(threads, (tokens + kPerTask - 1) / kPerTask, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(tokens, (task + 1) * kPerTask);
    for (std::int64_t t = task * kPerTask; t < end; ++t) body(t);
  });
}

// An expert that a token goes to, and the weight of what it gives.
struct Choice {
  std::int64_t expert = 0;
  float weight = 0;
};

// The `used` best of `scores`, [experts], in the order of their numbers; of equal scores the first count as better. A
// score that is not a number is chosen, so that it shows in what comes out.
void choose_experts(const Experts& experts, const float* scores, Choice* chosen);

// Runs blocks of at most `block` tokens. Sums are in the order of the experts' numbers, so the same tokens in the same
// blocks give the same bits for any number of threads.
class Mixture {
 public:
  Mixture(const Configuration& configuration, std::int64_t block, int threads);

  // out[t] = sum of weight * expert(in[t]) over the experts of token t; [tokens, width] both.
  void run(const MixtureWeights& weights, const float* in, std::int64_t tokens, float* out, ProductWorkspace& workspace);

 private:
  void choose(const MixtureWeights& weights, const float* in, std::int64_t tokens, ProductWorkspace& workspace);
  void run_one_token(const MixtureWeights& weights, const float* in, float* out, ProductWorkspace& workspace);
  // The tokens of one expert, [first, end) of in_order_.
  void run_expert(const MixtureWeights& weights, std::int64_t first, std::int64_t end, const float* in, float* out,
                  ProductWorkspace& workspace);
  void activate_inner(std::int64_t rows);

  Configuration c_;
  Experts experts_;
  int threads_;
  std::int64_t inner_width_;
  struct Visit {
    std::int64_t token = 0;
    Choice choice;
  };
  std::vector<Choice> chosen_;  // [token, used]
  std::vector<Visit> in_order_;  // [token * used], by expert and then by token
  // [token, feature] of one expert's tokens; inner_ of one token has a row for each of its experts
  std::vector<float> scores_, gathered_, inner_, apart_, given_;
};

}  // namespace sharpmax::model
