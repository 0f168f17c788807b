#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  return softmax_at(parameters[0], scores, weights);
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  d_parameters[0] += softmax_backward(parameters[0], scores, weights, d_weights, d_scores);
}

void through_rule(const HeadParameters&, double, const RuleGradient& d_rule, std::span<double> d_parameters) {
  d_parameters[0] += d_rule.beta;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Softmax& softmax) : AnyNormalizer("softmax", {{"beta", softmax.beta}}) {}

const Definition& softmax() {
  static const Definition definition{
      .order = 10,
      .name = "softmax",
      .aliases = {},
      .formula = "exp(beta e_j) / sum_k exp(beta e_k)",
      .peak_as_n_grows =
          "falls as 1/n: over scores of spread D every weight is between exp(-beta D)/n and "
          "exp(beta D)/n",
      .parameters =
          {{.name = "beta", .default_value = {1.0}, .domain = "a finite number", .learnable = true}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p, double) { return exponential_rule(p[0]); },
      .moves = {.beta = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
