#include <algorithm>

#include "normalizer/definition.h"

namespace sharpmax {
namespace {

RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  const double n = static_cast<double>(scores.size());
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::max(scores[j], 0.0) / n;
  return {};
}

void backward(const HeadParameters&, std::span<const double> scores, std::span<const double>,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  const double n = static_cast<double>(scores.size());
  for (std::size_t j = 0; j < scores.size(); ++j) d_scores[j] = scores[j] > 0.0 ? d_weights[j] / n : 0.0;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Relu&) : AnyNormalizer("relu") {}

const Definition& relu() {
  static const Definition definition{
      .order = 180,
      .name = "relu",
      .aliases = {},
      .formula = "max(e_j, 0) / n",
      .peak_as_n_grows =
          "falls as 1/n: it is max(e_max, 0) / n; of w / mass it stays only while all but a fixed number of "
          "scores are at or below 0",
      .parameters = {},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return Rule{.kind = RuleKind::relu}; },
  };
  return definition;
}

}  // namespace sharpmax
