#include "theory/dispersion.h"

#include <algorithm>
#include <cmath>

#include "theory/arguments.h"

namespace sharpmax::theory {
namespace {

void check(double spread, double beta) {
  require("spread", spread, kNotNegative);
  require("beta", beta, kPositive);
}

}  // namespace

double spread_of(std::span<const double> scores) {
  if (scores.empty()) throw Error(ErrorCode::bad_argument, "spread_of: no score was given; it needs one");
  for (const double e : scores) require("a score", e, kAnyNumber);
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  return *most - *least;
}

Range dispersion_bound(double spread, double n, double beta) {
  check(spread, beta);
  require("n", n, kAtLeastOne);
  return {std::exp(-beta * spread) / n, std::exp(beta * spread) / n};
}

Range dispersion_range(double spread, double n, double beta) {
  check(spread, beta);
  require("n", n, kAtLeastOne);
  const double gap = std::exp(-beta * spread);
  // 1 / (1 + (n - 1) / gap), written so that a gap of 0 costs nothing but the answer 0.
  return {n == 1.0 ? 1.0 : gap / (gap + (n - 1.0)), 1.0 / (1.0 + (n - 1.0) * gap)};
}

double log_dispersion_length(double spread, double peak, double beta) {
  check(spread, beta);
  require("peak", peak, kShare);
  return beta * spread - std::log(peak);
}

double log_sharp_length(double spread, double peak, double beta) {
  check(spread, beta);
  require("peak", peak, kShare);
  // ln(1 + exp(x)), of either sign of x. The odds come first: those of one half are exactly 0.
  const double x = beta * spread + (std::log1p(-peak) - std::log(peak));
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

}  // namespace sharpmax::theory
