#include <cmath>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kS, kB };

double temperature_of(const HeadParameters& parameters, double n) noexcept {
  return parameters[kS] * std::log(n) + parameters[kB];
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  return softmax_at(temperature_of(parameters, static_cast<double>(scores.size())), scores, weights);
}

void through_rule(const HeadParameters&, double n, const RuleGradient& d_rule,
                  std::span<double> d_parameters) {
  d_parameters[kS] += d_rule.beta * std::log(n);
  d_parameters[kB] += d_rule.beta;
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  const double n = static_cast<double>(scores.size());
  const double d_beta = softmax_backward(temperature_of(parameters, n), scores, weights, d_weights, d_scores);
  through_rule(parameters, n, {.beta = d_beta}, d_parameters);
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Ssmax& ssmax) : AnyNormalizer("ssmax", {{"s", ssmax.s}, {"b", ssmax.b}}) {}

const Definition& ssmax() {
  static const Definition definition{
      .order = 50,
      .name = "ssmax",
      .aliases = {},
      .formula = "softmax((s ln n + b) e)",
      .peak_as_n_grows =
          "at least 1 / (1 + n^(1 - s D) exp(-b D)) for a winner D above the rest: stays where s D >= 1, "
          "falls as n^(s D - 1) where s times the whole spread is below 1",
      .parameters = {{.name = "s", .default_value = {1.0}, .domain = "a finite number", .learnable = true},
                     {.name = "b", .default_value = {0.0}, .domain = "a finite number", .learnable = true}},
      .weigh = weigh,
      .backward = backward,
      .rule = [](const HeadParameters& p, double n) { return exponential_rule(temperature_of(p, n)); },
      .moves = {.beta = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
