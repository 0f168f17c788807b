#include <algorithm>

#include "base/numbers.h"
#include "normalizer/definition.h"

namespace sharpmax {
namespace {

double sum_of(std::span<const double> scores) {
  CompensatedSum sum;
  for (const double e : scores) sum.add(e);
  return sum.value();
}

// Here a score already is phi(q) . phi(k), hence not negative; a row of zeros gets zeros.
RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  const double sum = sum_of(scores);
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = sum > 0.0 ? scores[j] / sum : 0.0;
  return {};
}

void backward(const HeadParameters&, std::span<const double> scores, std::span<const double> weights,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  const double sum = sum_of(scores);
  CompensatedSum mean;
  for (std::size_t j = 0; j < scores.size(); ++j) mean.add(weights[j] * d_weights[j]);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    d_scores[j] = sum > 0.0 ? (d_weights[j] - mean.value()) / sum : 0.0;
  }
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Linear&) : AnyNormalizer("linear") {}

const Definition& linear() {
  static const Definition definition{
      .order = 190,
      .name = "linear",
      .aliases = {},
      .formula = "phi(q) . phi(k_j) / sum_k phi(q) . phi(k_k), phi = elu + 1",
      .peak_as_n_grows =
          "falls as 1/n over bounded queries and keys: every weight is between r/n and 1/(r n), r the "
          "ratio of the least to the largest phi(q) . phi(k)",
      .parameters = {},
      .needs_queries_and_keys = true,
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::proportional}; },
  };
  return definition;
}

}  // namespace sharpmax
