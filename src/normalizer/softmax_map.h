// Softmax in double: at a given temperature, and at the least one that is sharp enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "normalizer/definition.h"

namespace sharpmax {

// Softmax at a given temperature, in double: what most members of the family are made of.

// What one sweep at temperature beta learns. With d_j = beta (e_j - top), never positive:
struct SharpenedSurvey {
  double top = 0.0;     // the score of the heaviest key: the largest, or for beta < 0 the smallest
  double tail = 0.0;    // sum of exp(d_j) over every key but the first heaviest
  double moment = 0.0;  // sum of exp(d_j) d_j
  double square = 0.0;  // sum of exp(d_j) d_j^2

  double peak_weight() const noexcept { return 1.0 / (1.0 + tail); }
  double entropy() const noexcept;   // nats
  double variance() const noexcept;  // of d under the weights: beta^2 Var(e)
};

// The score that gets the largest weight at this temperature. At least one score.
double heaviest_score(double beta, std::span<const double> scores);

SharpenedSurvey survey_at(double beta, std::span<const double> scores);

// Weights exp(beta e_j) / sum, for finite beta of either sign. They come from beta (e_j - top), whose
// difference is exact for near ties: beta of 1e18 loses nothing. The largest is 1 / (1 + tail), bit for bit.
RowFacts softmax_at(double beta, std::span<const double> scores, std::span<double> weights);

// The limit of an infinite beta: 1/m for each of the m keys that share the first place.
RowFacts sharpest_limit(std::span<const double> scores, std::span<double> weights);

// d_scores at fixed beta; returns the derivative by beta.
double softmax_backward(double beta, std::span<const double> scores, std::span<const double> weights,
                        std::span<const double> d_weights, std::span<double> d_scores);

// The kernels' rule for a softmax. Their exponents are beta (e - largest score), which a negative beta
// would let overflow: such rows, good for nothing but gradient descent passing through, go the slow way.
Rule exponential_rule(double beta) noexcept;

// The least temperature that is sharp enough: what entropy_target and peak_target solve on every row.

// How far a temperature is from the target.
struct Probe {
  bool feasible = false;  // decided on the quantity itself, exactly as the user would check it
  double excess = 0.0;    // a function that falls through 0 at the target ...
  double slope = 0.0;     // ... and its derivative by beta
};

// Beyond this many units of beta * gap, exp(-beta * gap) is exactly 0 in double.
inline constexpr double kVanishingExponent = 800.0;

// Finite and feasible if any temperature is; 0 when no key lies below the largest.
inline double surely_sharp_enough(std::span<const double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double least_gap = std::numeric_limits<double>::infinity();
  for (const double e : scores) {
    if (e < top) least_gap = std::min(least_gap, top - e);
  }
  return std::min(kVanishingExponent / least_gap, std::numeric_limits<double>::max());
}

// The least beta >= 1 with probe(beta).feasible, to 4 eps and never below it: the answer is a beta that
// was itself probed and found feasible. Infinity if `sharpest` is not feasible: ties for the first place
// (or gaps so small that no double beta opens them) put the target out of reach.
//
// Newton's method kept inside a bracket [infeasible, feasible] and relieved by geometric bisection when
// it stalls. A Newton iterate approaches from one side only and would leave the other end of the bracket
// where it is; close to the root each step therefore goes a little too far, so that both ends close in.
template <class ProbeAt>
double least_temperature(double sharpest, const ProbeAt& probe_at) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  constexpr double kClose = 1e-2;      // a step below this fraction of beta counts as close
  constexpr double kOvershoot = 1e-3;  // of the step: costs a factor 1000 a probe instead of squaring
  constexpr int kMostProbes = 400;     // bisection alone needs 64 + 53: a bound, not a budget

  double low = 1.0;
  Probe probe = probe_at(low);
  if (probe.feasible) return low;
  double high = sharpest;
  if (!(high > low) || !probe_at(high).feasible) return std::numeric_limits<double>::infinity();

  double from = low;  // where `probe` was taken
  int stalled = 0;
  for (int i = 0; i < kMostProbes && high - low > 4.0 * kEps * high; ++i) {
    double step = -probe.excess / probe.slope;
    if (std::abs(step) < kClose * from) step *= 1.0 + kOvershoot;
    double next = from + step;
    if (stalled >= 2 || !(next > low && next < high)) {
      next = high > 2.0 * low ? std::sqrt(low) * std::sqrt(high) : low + 0.5 * (high - low);
      stalled = 0;
      if (!(next > low && next < high)) break;
    }
    const double width = high - low;
    from = next;
    probe = probe_at(next);
    (probe.feasible ? high : low) = next;
    stalled = high - low > 0.5 * width ? stalled + 1 : 0;
  }
  return high;
}

// alpha-entmax in double: p_j = [(alpha - 1) z_j - tau]+^(1 / (alpha - 1)) with sum 1, z_j = beta e_j.
//
// With a = alpha - 1 and g_j the gap of z_j to the largest, a key can have weight only if a g_j < 1: the
// others are never looked at. Instead of tau we solve for L = -ln p_max, in [0, ln n]:
//
//   p_j = exp(-L + log1p(-u_j) / a),  u_j = a g_j exp(a L)
//
// which goes over to softmax, exp(-L - g_j), as a -> 0 without any cancellation. In z shifted by its
// maximum, tau = -exp(-a L).

RowFacts entmax_weigh(double alpha, double beta, std::span<const double> scores, std::span<double> weights);

struct EntmaxGradient {
  double alpha = 0.0;
  double beta = 0.0;
};
// 1 <= alpha <= 2. Writes d_scores and returns the derivatives by alpha and beta.
EntmaxGradient entmax_backward(double alpha, double beta, std::span<const double> scores,
                               std::span<const double> weights, std::span<const double> d_weights,
                               std::span<double> d_scores);

// Of alpha = 2 and 1.5, by sorting the candidates: no iteration, and an oracle for the one above.
RowFacts sparsemax_weigh(std::span<const double> scores, std::span<double> weights);
RowFacts entmax15_weigh(std::span<const double> scores, std::span<double> weights);

// Slope of the temperature of `adaptive` by the entropy at beta = 1.
double adaptive_slope(const HeadParameters& parameters, double entropy);

// The part of a threshold map's derivative by alpha that its weight p decides, p l^2 s(a l) with l = ln p; 0 for p = 0.
double entmax_bend(double alpha, double p);

inline constexpr double kLargestAlpha = 16.0;
inline constexpr double kLargestAlphaBackward = 2.0;
inline constexpr std::string_view kEntmaxNoBackward =
    "above alpha = 2 the slope at the edge of the support is unbounded";

// The kernels' rule. In float the power 1 / (alpha - 1) multiplies relative errors by as much, so nearly
// plain softmax goes through the specification, and softmax itself through its own kernel.
Rule threshold_rule(double alpha, double beta) noexcept;

}  // namespace sharpmax
