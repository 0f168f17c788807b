#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kPolynomial, kThreshold, kGradient };

struct PolynomialValue {
  double value = 0.0;
  double slope = 0.0;
};

PolynomialValue evaluate(std::span<const double> highest_first, double x) noexcept {
  PolynomialValue result;
  for (const double coefficient : highest_first) {
    result.slope = result.slope * x + result.value;
    result.value = result.value * x + coefficient;
  }
  return result;
}

// beta of a row whose entropy at beta = 1 is `entropy`, and d beta / d entropy.
PolynomialValue temperature_of(const HeadParameters& parameters, double entropy) noexcept {
  if (!(entropy > parameters[kThreshold])) return {.value = 1.0};
  const PolynomialValue fit = evaluate(parameters.list(kPolynomial), entropy);
  if (!(fit.value > 1.0)) return {.value = 1.0};
  return {.value = std::min(fit.value, std::numeric_limits<double>::max()), .slope = fit.slope};
}

double temperature(const HeadParameters& parameters, const Survey& survey) {
  const double entropy = survey.entropy();
  if (std::isnan(entropy)) return entropy;  // a poisoned row stays poisoned
  return temperature_of(parameters, entropy).value;
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  return softmax_at(temperature_of(parameters, survey_at(1.0, scores).entropy()).value, scores, weights);
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double>) {
  const SharpenedSurvey plain = survey_at(1.0, scores);
  const double entropy = plain.entropy();
  const PolynomialValue beta = temperature_of(parameters, entropy);
  const double d_beta = softmax_backward(beta.value, scores, weights, d_weights, d_scores);
  if (parameters[kGradient] == 0.0 || beta.slope == 0.0) return;
  // dH/de_k = -q_k (ln q_k + H) with q the plain softmax.
  const double log_sum = std::log1p(plain.tail);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const double log_weight = scores[k] - plain.top - log_sum;
    const double weight = std::exp(log_weight);
    if (weight > 0.0) d_scores[k] -= d_beta * beta.slope * weight * (log_weight + entropy);
  }
}

Rule rule(const HeadParameters& parameters, double) {
  return {
      .kind = RuleKind::surveyed, .temperature = temperature, .full_gradient = parameters[kGradient] != 0.0};
}

}  // namespace

double adaptive_slope(const HeadParameters& parameters, double entropy) {
  return temperature_of(parameters, entropy).slope;
}

AnyNormalizer::AnyNormalizer(const Adaptive& adaptive)
    : AnyNormalizer("adaptive", {{"polynomial", adaptive.polynomial},
                                 {"threshold", adaptive.threshold},
                                 {"gradient", static_cast<double>(adaptive.gradient)}}) {}

const Definition& adaptive() {
  static const Definition definition{
      .order = 20,
      .name = "adaptive",
      .aliases = {},
      .formula = "softmax(beta e), beta = max(1, polynomial(H)) where H(softmax(e)) > threshold, else 1",
      .peak_as_n_grows =
          "falls as 1/n: the published polynomial exceeds 1 only for 0.849 < H < 5.945 nats, so a row of "
          "more than about 382 equal weights is plain softmax again",
      .parameters = {{.name = "polynomial",
                      .kind = ParameterKind::list,
                      .default_value = Adaptive{}.polynomial,
                      .domain = "finite coefficients, highest degree first"},
                     {.name = "threshold", .default_value = {0.5}, .domain = "a finite number of nats"},
                     {.name = "gradient",
                      .kind = ParameterKind::choice,
                      .default_value = {0.0},
                      .domain = "stopped or full",
                      .choices = {"stopped", "full"}}},
      .weigh = weigh,
      .backward = backward,
      .rule = rule,
  };
  return definition;
}

}  // namespace sharpmax
