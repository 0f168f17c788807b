#include <algorithm>
#include <cmath>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kWeight, kGradient };

// Newton on ln tail, where tail = sum of exp(-beta gap) over the losers: a log-sum-exp, hence convex in
// beta, and straight once one gap rules. d tail / d beta = moment / beta.
double temperature_of(double weight, std::span<const double> scores) {
  const double log_target_tail = std::log1p(-weight) - std::log(weight);
  return least_temperature(surely_sharp_enough(scores), [&](double beta) {
    const SharpenedSurvey survey = survey_at(beta, scores);
    return Probe{.feasible = survey.peak_weight() >= weight,
                 .excess = std::log(survey.tail) - log_target_tail,
                 .slope = survey.moment / (beta * survey.tail)};
  });
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const double beta = temperature_of(parameters[kWeight], scores);
  return std::isinf(beta) ? sharpest_limit(scores, weights) : softmax_at(beta, scores, weights);
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  const double beta = temperature_of(parameters[kWeight], scores);
  if (std::isinf(beta)) {  // the weights of unreachable rows are constants
    std::fill(d_scores.begin(), d_scores.end(), 0.0);
    return;
  }
  const double d_beta = softmax_backward(beta, scores, weights, d_weights, d_scores);
  if (parameters[kGradient] == 0.0 || beta == 1.0) return;
  // ln p_top(beta, e) = ln weight defines beta; its slope in beta is the mean gap under p.
  const SharpenedSurvey survey = survey_at(beta, scores);
  const double mean_gap = -survey.moment / (beta * (1.0 + survey.tail));
  if (!(mean_gap > 0.0)) return;
  const std::size_t top =
      static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    d_scores[k] -= d_beta * beta * ((k == top ? 1.0 : 0.0) - weights[k]) / mean_gap;
  }
  d_parameters[kWeight] += d_beta / (parameters[kWeight] * mean_gap);
}

Rule rule(const HeadParameters& parameters, double) {
  return {.kind = RuleKind::peak_target,
          .target = parameters[kWeight],
          .full_gradient = parameters[kGradient] != 0.0};
}

void through_rule(const HeadParameters&, double, const RuleGradient& d_rule, std::span<double> d_parameters) {
  d_parameters[kWeight] += d_rule.target;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const PeakTarget& target)
    : AnyNormalizer("peak_target",
                    {{"weight", target.weight}, {"gradient", static_cast<double>(target.gradient)}}) {}

const Definition& peak_target() {
  static const Definition definition{
      .order = 40,
      .name = "peak_target",
      .aliases = {},
      .formula = "softmax(beta e), beta the least >= 1 for which the largest weight >= weight",
      .peak_as_n_grows =
          "never below `weight`, at any n, by construction. m exact ties for first place with weight > "
          "1/m get 1/m each",
      .parameters = {{.name = "weight",
                      .default_value = {0.5},
                      .domain = "a number between 0 and 1, both excluded",
                      .valid = [](double weight) { return weight > 0.0 && weight < 1.0; },
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
