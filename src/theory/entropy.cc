#include "theory/entropy.h"

#include <algorithm>
#include <cmath>

#include "normalizer/softmax_map.h"
#include "theory/arguments.h"
#include "theory/root.h"

namespace sharpmax::theory {
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

}  // namespace sharpmax::theory
