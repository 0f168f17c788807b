#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

constexpr double kAlpha = 2.0;

RowFacts weigh(const HeadParameters&, std::span<const double> scores, std::span<double> weights) {
  return sparsemax_weigh(scores, weights);
}

void backward(const HeadParameters&, std::span<const double> scores, std::span<const double> weights,
              std::span<const double> d_weights, std::span<double> d_scores, std::span<double>) {
  entmax_backward(kAlpha, 1.0, scores, weights, d_weights, d_scores);
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Sparsemax&) : AnyNormalizer("sparsemax") {}

const Definition& sparsemax() {
  static const Definition definition{
      .order = 70,
      .name = "sparsemax",
      .aliases = {},
      .formula = "max(e_j - tau, 0), tau such that they sum to 1",
      .peak_as_n_grows =
          "1 for a winner 1 above the rest, at any n; over scores spread evenly it falls as n^(-1/2)",
      .parameters = {},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters&, double) { return threshold_rule(kAlpha, 1.0); },
  };
  return definition;
}

}  // namespace sharpmax
