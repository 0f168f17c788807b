#include <cmath>

#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

enum Place : std::size_t { kAlpha, kDelta, kBeta, kGamma };

// The paper's ln n would vanish for one key; the logarithm starts at ln 2 instead.
double length_of(double n) noexcept { return std::log1p(n); }

double temperature_of(const HeadParameters& parameters, double n) noexcept {
  return parameters[kDelta] + parameters[kBeta] * std::pow(length_of(n), parameters[kGamma]);
}

RowFacts weigh(const HeadParameters& parameters, std::span<const double> scores, std::span<double> weights) {
  const double n = static_cast<double>(scores.size());
  return entmax_weigh(parameters[kAlpha], temperature_of(parameters, n), scores, weights);
}

void through_rule(const HeadParameters& parameters, double n, const RuleGradient& d_rule,
                  std::span<double> d_parameters) {
  const double growth = std::pow(length_of(n), parameters[kGamma]);
  d_parameters[kAlpha] += d_rule.alpha;
  d_parameters[kDelta] += d_rule.beta;
  d_parameters[kBeta] += d_rule.beta * growth;
  d_parameters[kGamma] += d_rule.beta * parameters[kBeta] * growth * std::log(length_of(n));
}

void backward(const HeadParameters& parameters, std::span<const double> scores,
              std::span<const double> weights, std::span<const double> d_weights, std::span<double> d_scores,
              std::span<double> d_parameters) {
  const double n = static_cast<double>(scores.size());
  const EntmaxGradient gradient = entmax_backward(parameters[kAlpha], temperature_of(parameters, n), scores,
                                                  weights, d_weights, d_scores);
  through_rule(parameters, n, {.beta = gradient.beta, .alpha = gradient.alpha}, d_parameters);
}

ParameterSpec any_number(std::string_view name) {
  return {.name = name, .default_value = {1.0}, .domain = "a finite number", .learnable = true};
}

}  // namespace

AnyNormalizer::AnyNormalizer(const Asentmax& asentmax)
    : AnyNormalizer("asentmax", {{"alpha", asentmax.alpha},
                                 {"delta", asentmax.delta},
                                 {"beta", asentmax.beta},
                                 {"gamma", asentmax.gamma}}) {}

const Definition& asentmax() {
  static const Definition definition{
      .order = 100,
      .name = "asentmax",
      .aliases = {},
      .formula = "entmax_alpha((delta + beta (ln(n + 1))^gamma) e)",
      .peak_as_n_grows =
          "1 from some n on for a winner any fixed gap above the rest (alpha > 1; beta, gamma > 0): the "
          "reach "
          "1 / ((alpha - 1) (delta + beta (ln(n + 1))^gamma)) of a competitor shrinks to 0",
      .parameters = {{.name = "alpha",
                      .default_value = {1.5},
                      .domain = "a number in [1, 16]",
                      .valid = [](double alpha) { return alpha >= 1.0 && alpha <= kLargestAlpha; },
                      .learnable = true},
                     any_number("delta"),
                     any_number("beta"),
                     any_number("gamma")},
      .weigh = weigh,
      .backward = backward,
      .no_backward = [](const HeadParameters& p) -> std::string_view {
        return p[kAlpha] > kLargestAlphaBackward ? kEntmaxNoBackward : std::string_view();
      },
      .rule = [](const HeadParameters& p,
                 double n) { return threshold_rule(p[kAlpha], temperature_of(p, n)); },
      .moves = {.beta = true, .alpha = true},
      .through_rule = through_rule,
  };
  return definition;
}

}  // namespace sharpmax
