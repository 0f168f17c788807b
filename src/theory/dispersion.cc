#include "theory/dispersion.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "normalizer/softmax_map.h"
#include "theory/arguments.h"

namespace sharpmax::theory {

double norm_spread_bound(const NormFacts& facts) {
  require("sigma_max(Q)", facts.query_gain, kNotNegative);
  require("sigma_max(K)", facts.key_gain, kNotNegative);
  require("the query's norm", facts.query_norm, kNotNegative);
  require("the largest key's norm", facts.key_norm, kNotNegative);
  require("scale", facts.scale, kNotNegative);
  return 2.0 * facts.scale * facts.query_gain * facts.key_gain * facts.query_norm * facts.key_norm;
}

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

namespace {

constexpr double kRounding = 1e-14;  // of an entropy, relative

double surprise(double p) noexcept { return p > 0.0 ? -p * std::log(p) : 0.0; }

// Of the most uneven distribution whose largest weight is p: it majorizes every other one.
double least_entropy(double p) noexcept {
  const double copies = std::floor(1.0 / p);
  return copies * surprise(p) + surprise(std::max(0.0, 1.0 - copies * p));
}

// Of one key of weight 1 - tail above n - 1 equal ones.
double largest_entropy(double tail, double n) noexcept {
  if (tail == 0.0) return 0.0;
  return surprise(tail) - (1.0 - tail) * std::log1p(-tail) + tail * std::log(n - 1.0);
}

SharpenedSurvey survey(double beta, std::span<const double> scores) {
  require("beta", beta, kAnyNumber);
  if (scores.empty()) throw Error(ErrorCode::bad_argument, "entropy: no score was given; it needs one");
  for (const double e : scores) require("a score", e, kAnyNumber);
  return survey_at(beta, scores);
}

}  // namespace

double entropy_at(double beta, std::span<const double> scores) { return survey(beta, scores).entropy(); }

double entropy_slope(double beta, std::span<const double> scores) {
  // variance() is of beta e; at beta = 0 the slope is 0 whatever the scores.
  const double variance = survey(beta, scores).variance();
  return beta == 0.0 ? 0.0 : -variance / beta;
}

double least_peak_at_entropy(double nats, double n) {
  require("entropy", nats, kNotNegative);
  require("n", n, kAtLeastOne);
  if (nats == 0.0) return 1.0;
  // Just above 1/m the entropy is flat in p: one rounding of `nats` moves the root by its square root. The
  // bound must not come out too large, so a little more entropy is granted than was asked for.
  const double granted = nats * (1.0 + kRounding);
  if (granted >= std::log(n)) return 1.0 / n;
  return falling_root(std::exp(-granted), 1.0, [&](double p) { return least_entropy(p) - granted; });
}

double largest_peak_at_entropy(double nats, double n) {
  require("entropy", nats, kNotNegative);
  require("n", n, kAtLeastOne);
  if (nats > std::log(n))
    throw Error(ErrorCode::bad_argument, fmt::format("entropy is {}; {} keys have at most ln n", nats, n));
  if (n == 1.0 || nats == 0.0) return 1.0;
  return 1.0 - falling_root(0.0, 1.0 - 1.0 / n, [&](double tail) { return nats - largest_entropy(tail, n); });
}

double published_gradient_bound(double temperature) {
  require("temperature", temperature, kPositive);
  return std::min(0.25 / temperature, std::numbers::sqrt2);
}

double jacobian_norm_bound(double temperature) {
  require("temperature", temperature, kPositive);
  return 0.5 / temperature;
}

double jacobian_entry_bound(double temperature) {
  require("temperature", temperature, kPositive);
  return 0.25 / temperature;
}

double jacobian_norm_bound(double temperature, std::span<const double> weights) {
  require("temperature", temperature, kPositive);
  require_distribution(weights);
  double disk = 0.0, peak = 0.0;
  for (const double w : weights) {
    disk = std::max(disk, 2.0 * w * (1.0 - w));
    peak = std::max(peak, w);
  }
  return std::min(disk, peak) / temperature;
}

double dispersed_jacobian_norm_bound(double temperature, double spread, double n) {
  require("temperature", temperature, kPositive);
  const double peak = dispersion_range(spread, n, 1.0 / temperature).high;
  return std::min(0.5, peak) / temperature;
}

double difference_bound(double temperature, double epsilon) {
  require("temperature", temperature, kPositive);
  require("epsilon", epsilon, kPositive);
  return std::min(0.5 / temperature, std::numbers::sqrt2 / epsilon);
}

}  // namespace sharpmax::theory
