#include <cmath>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kNats, kGradient };

// Newton on ln H: once one key leads, H falls like exp(-beta gap), so its logarithm is nearly straight.
// dH/dbeta = -beta Var(e) = -variance() / beta.
double temperature_of(double nats, std::span<const double> scores) {
  return least_temperature(surely_sharp_enough(scores), [&](double beta) {
    const SharpenedSurvey survey = survey_at(beta, scores);
    const double entropy = survey.entropy();
    return Probe{.feasible = entropy <= nats,
                 .excess = std::log(entropy / nats),
                 .slope = -survey.variance() / (beta * entropy)};
  });
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const double beta = temperature_of(parameters[kNats], scores);
  return std::isinf(beta) ? sharpest_limit(scores, weights) : softmax_at(beta, scores, weights);
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  const double beta = temperature_of(parameters[kNats], scores);
  if (std::isinf(beta)) {  // the weights of unreachable rows are constants
    std::fill(d_scores.begin(), d_scores.end(), 0.0);
    return;
  }
  const double d_beta = softmax_backward(beta, scores, weights, d_weights, d_scores);
  if (parameters[kGradient] == 0.0 || beta == 1.0) return;
  // H(beta, e) = nats defines beta: d beta / d e_k = p_k (ln p_k + H) / (dH/dbeta / beta).
  const SharpenedSurvey survey = survey_at(beta, scores);
  const double variance = survey.variance() / (beta * beta);
  if (!(variance > 0.0)) return;
  const double entropy = survey.entropy();
  const double log_sum = std::log1p(survey.tail);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    if (weights[k] == 0.0) continue;
    const double log_weight = beta * (scores[k] - survey.top) - log_sum;
    d_scores[k] -= d_beta * weights[k] * (log_weight + entropy) / variance;
  }
  d_parameters[kNats] -= d_beta / (beta * variance);
}

Rule rule(const HeadParameters& parameters, double) {
  return {.kind = RuleKind::entropy_target,
          .target = parameters[kNats],
          .full_gradient = parameters[kGradient] != 0.0};
}

void through_rule(const HeadParameters&, double, const RuleGradient& d_rule, std::span<double> d_parameters) {
  d_parameters[kNats] += d_rule.target;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const EntropyTarget& target)
    : AnyNormalizer("entropy_target",
                    {{"nats", target.nats}, {"gradient", static_cast<double>(target.gradient)}}) {}

const Definition& entropy_target() {
  static const Definition definition{
      .order = 30,
      .name = "entropy_target",
      .aliases = {},
      .formula = "softmax(beta e), beta the least >= 1 for which H <= nats",
      .peak_as_n_grows =
          "never below exp(-nats), at any n: the peak of any distribution is at least exp(-H). m exact "
          "ties for first place with nats < ln m get 1/m each",
      .parameters = {{.name = "nats",
                      .default_value = {0.5},
                      .domain = "a number above 0",
                      .valid = [](double nats) { return nats > 0.0; },
                      .learnable = true},
                     {.name = "gradient",
                      .kind = ParameterKind::choice,
                      .default_value = {0.0},
                      .domain = "stopped or full",
                      .choices = {"stopped", "full"}}},
      .weigh = weigh,
      .backward = backward,
      .rule = rule,
      .moves = {.target = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
