#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  return entmax_weigh(parameters[0], 1.0, scores, weights);
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  d_parameters[0] += entmax_backward(parameters[0], 1.0, scores, weights, d_weights, d_scores).alpha;
}

void through_rule(const HeadParameters&, double, const RuleGradient& d_rule, std::span<double> d_parameters) {
  d_parameters[0] += d_rule.alpha;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Entmax& entmax) : AnyNormalizer("entmax", {{"alpha", entmax.alpha}}) {}

const Definition& entmax() {
  static const Definition definition{
      .order = 90,
      .name = "entmax",
      .aliases = {},
      .formula =
          "max((alpha - 1) e_j - tau, 0)^(1 / (alpha - 1)), tau such that they sum to 1; alpha = 1 is "
          "softmax",
      .peak_as_n_grows =
          "1 for a winner 1 / (alpha - 1) above the rest, at any n; over scores spread evenly it falls as "
          "n^(-1/alpha)",
      .parameters = {{.name = "alpha",
                      .default_value = {1.5},
                      .domain = "a number in [1, 16]",
                      .valid = [](double alpha) { return alpha >= 1.0 && alpha <= kLargestAlpha; },
                      .learnable = true}},
      .weigh = weigh,
      .backward = backward,
      .no_backward = [](const HeadParameters& p) -> std::string_view {
        return p[0] > kLargestAlphaBackward ? kEntmaxNoBackward : std::string_view();
      },
      .rule = [](const HeadParameters& p, double) { return threshold_rule(p[0], 1.0); },
      .moves = {.alpha = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
