#include <cmath>

#include "base/numbers.h"
#include "normalizer/definition.h"

namespace sharpmax {
namespace {

double offset_of(const HeadParameters& parameters, double n) noexcept {
  return std::isnan(parameters[0]) ? -std::log(n) : parameters[0];
}

double logistic(double x) noexcept {
  const double small = std::exp(-std::abs(x));
  return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const double offset = offset_of(parameters, static_cast<double>(scores.size()));
  for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = logistic(scores[j] + offset);
  return {};
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  const double offset = offset_of(parameters, static_cast<double>(scores.size()));
  CompensatedSum d_offset;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    d_scores[j] = d_weights[j] * weights[j] * logistic(-(scores[j] + offset));
    d_offset.add(d_scores[j]);
  }
  if (!std::isnan(parameters[0])) d_parameters[0] += d_offset.value();
}

void through_rule(const HeadParameters& parameters, double, const RuleGradient& d_rule,
                  std::span<double> d_parameters) {
  if (!std::isnan(parameters[0])) d_parameters[0] += d_rule.offset;
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Sigmoid& sigmoid) : AnyNormalizer("sigmoid", {{"b", sigmoid.b}}) {}

const Definition& sigmoid() {
  static const Definition definition{
      .order = 150,
      .name = "sigmoid",
      .aliases = {},
      .formula = "1 / (1 + exp(-(e_j + b))); b = auto is -ln n",
      .peak_as_n_grows =
          "with b = auto falls as 1/n over bounded scores; with a fixed b it does not depend on n at all, "
          "but the mass grows with n and, of w / mass, the peak falls as 1/n",
      .parameters = {{.name = "b",
                      .default_value = {kNoValue},
                      .domain = "a finite number, or auto",
                      .learnable = true,
                      .choices = {"auto"}}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p,
                 double n) { return Rule{.kind = RuleKind::sigmoid, .offset = offset_of(p, n)}; },
      .moves = {.offset = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
