#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

// c + sum exp(e) = exp(shift) * scaled: neither part overflows, and c = 0 is softmax.
struct Denominator {
  double shift = 0.0;
  double scaled = 0.0;
};

Denominator denominator_of(double c, const SharpenedSurvey& survey) noexcept {
  const double shift = c > 0.0 ? std::max(survey.top, std::log(c)) : survey.top;
  const double sink = c > 0.0 ? std::exp(std::log(c) - shift) : 0.0;
  return {shift, sink + std::exp(survey.top - shift) * (1.0 + survey.tail)};
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const SharpenedSurvey survey = survey_at(1.0, scores);
  const Denominator denominator = denominator_of(parameters[0], survey);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::exp(scores[j] - denominator.shift) / denominator.scaled;
  }
  return {.temperature = 1.0, .log_partition = survey.top + std::log1p(survey.tail)};
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  CompensatedSum mean;
  for (std::size_t j = 0; j < scores.size(); ++j) mean.add(weights[j] * d_weights[j]);
  for (std::size_t j = 0; j < scores.size(); ++j) d_scores[j] = weights[j] * (d_weights[j] - mean.value());
  // d w_j / d c = -w_j / (c + sum exp e)
  const Denominator denominator = denominator_of(parameters[0], survey_at(1.0, scores));
  if (mean.value() != 0.0) {
    d_parameters[0] -= mean.value() * std::exp(-denominator.shift) / denominator.scaled;
  }
}

void through_rule(const HeadParameters&, double, const RuleGradient& d_rule, std::span<double> d_parameters) {
  d_parameters[0] += d_rule.sink;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Sink& sink) : AnyNormalizer("sink", {{"c", sink.c}}) {}

const Definition& sink() {
  static const Definition definition{
      .order = 130,
      .name = "sink",
      .aliases = {"softmax1"},
      .formula = "exp(e_j) / (c + sum_k exp(e_k))",
      .peak_as_n_grows =
          "falls as 1/n: never above softmax's peak, of which it is the fraction Z / (c + Z) with Z = sum "
          "exp(e); that fraction tends to 1, so the sink fades as n grows",
      .parameters = {{.name = "c",
                      .default_value = {1.0},
                      .domain = "a number of at least 0",
                      .valid = [](double c) { return c >= 0.0; },
                      .learnable = true}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p,
                 double) { return Rule{.kind = RuleKind::exponential, .sink = p[0]}; },
      .moves = {.sink = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
