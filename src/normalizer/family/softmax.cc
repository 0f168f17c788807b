#include <algorithm>
#include <cmath>

#include "normalizer/definition.h"

namespace sharpmax {
namespace {

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores,
               std::span<double> weights) {
  const double beta = parameters[0];
  double top = -std::numeric_limits<double>::infinity();
  for (const double e : scores) top = std::max(top, beta * e);
  double sum = 0.0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::exp(beta * scores[j] - top);
    sum += weights[j];
  }
  for (double& w : weights) w /= sum;
  return {.temperature = beta, .log_partition = top + std::log(sum)};
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights,
              std::span<double> d_scores, std::span<double> d_parameters) {
  const double beta = parameters[0];
  double mean = 0.0;
  for (std::size_t j = 0; j < scores.size(); ++j) mean += weights[j] * d_weights[j];
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double d_logit = weights[j] * (d_weights[j] - mean);
    d_scores[j] = beta * d_logit;
    d_parameters[0] += d_logit * scores[j];
  }
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Softmax& softmax)
    : AnyNormalizer("softmax", {{"beta", softmax.beta}}) {}

const Definition& softmax() {
  static const Definition definition{
      .order = 10,
      .name = "softmax",
      .aliases = {},
      .formula = "exp(beta e_j) / sum_k exp(beta e_k)",
      .peak_as_n_grows =
          "falls as 1/n: over scores of spread D every weight is between exp(-beta D)/n and "
          "exp(beta D)/n",
      .parameters = {{.name = "beta",
                      .default_value = {1.0},
                      .domain = "a finite number",
                      .learnable = true}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p, double) {
        return Rule{.kind = RuleKind::exponential, .beta = p[0]};
      },
  };
  return definition;
}

}  // namespace sharpmax
