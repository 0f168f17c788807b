#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "normalizer/definition.h"

namespace sharpmax {
namespace {

double shift_of(std::span<const double> scores) {
  return std::max(0.0, *std::max_element(scores.begin(), scores.end()));
}

// (exp(e) - 1) exp(-shift), without cancellation near 0 and without overflow.
double scaled(double e, double shift) noexcept {
  return e > 0.0 ? -std::expm1(-e) * std::exp(e - shift) : std::expm1(e) * std::exp(-shift);
}

double scaled_sum(std::span<const double> scores, double shift) {
  CompensatedSum sum;
  for (const double e : scores) sum.add(std::abs(scaled(e, shift)));
  return sum.value();
}

RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  const double shift = shift_of(scores);
  const double sum = scaled_sum(scores, shift);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = scores[j] > 0.0 ? scaled(scores[j], shift) / sum : 0.0;
  }
  return {};
}

void backward(const HeadParameters&, std::span<const double> scores, std::span<const double> weights,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  const double shift = shift_of(scores);
  const double sum = scaled_sum(scores, shift);
  CompensatedSum mean;
  for (std::size_t j = 0; j < scores.size(); ++j) mean.add(weights[j] * d_weights[j]);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (scores[j] == 0.0) {  // a kink: the subgradient between the two slopes
      d_scores[j] = 0.0;
      continue;
    }
    const double slope = std::exp(scores[j] - shift) / sum;
    d_scores[j] = slope * (scores[j] > 0.0 ? d_weights[j] - mean.value() : mean.value());
  }
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Softpick&) : AnyNormalizer("softpick") {}

const Definition& softpick() {
  static const Definition definition{
      .order = 140,
      .name = "softpick",
      .aliases = {},
      .formula = "max(exp(e_j) - 1, 0) / sum_k |exp(e_k) - 1|; 0 / 0 is 0",
      .peak_as_n_grows =
          "falls as 1/n over bounded scores that stay away from 0; scores of exactly 0 cost nothing, so n "
          "of them beside one positive leave it at 1",
      .parameters = {},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::softpick}; },
  };
  return definition;
}

}  // namespace sharpmax
