#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

constexpr double kAlpha = 1.5;

RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  return entmax15_weigh(scores, weights);
}

void backward(const HeadParameters&, std::span<const double> scores, std::span<const double> weights,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  entmax_backward(kAlpha, 1.0, scores, weights, d_weights, d_scores);
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Entmax15&) : AnyNormalizer("entmax15") {}

const Definition& entmax15() {
  static const Definition definition{
      .order = 80,
      .name = "entmax15",
      .aliases = {},
      .formula = "max(e_j / 2 - tau, 0)^2, tau such that they sum to 1",
      .peak_as_n_grows =
          "1 for a winner 2 above the rest, at any n; over scores spread evenly it falls as n^(-2/3)",
      .parameters = {},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return threshold_rule(kAlpha, 1.0); },
  };
  return definition;
}

}  // namespace sharpmax
