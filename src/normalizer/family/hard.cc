#include <algorithm>
#include <vector>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  std::fill(weights.begin(), weights.end(), 0.0);
  weights[static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin())] = 1.0;
  return {};
}

// The true derivative is 0 almost everywhere; training passes the gradient of softmax straight through.
void backward(const HeadParameters&, std::span<const double> scores, std::span<const double>,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  std::vector<double> soft(scores.size());
  softmax_at(1.0, scores, soft);
  softmax_backward(1.0, scores, soft, d_weights, d_scores);
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Hard&) : AnyNormalizer("hard") {}

const Definition& hard() {
  static const Definition definition{
      .order = 120,
      .name = "hard",
      .aliases = {},
      .formula = "1 at the largest score (of equal scores the lowest index), 0 elsewhere",
      .peak_as_n_grows = "always 1",
      .parameters = {},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::hard}; },
  };
  return definition;
}

}  // namespace sharpmax
