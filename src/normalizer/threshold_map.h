// alpha-entmax in double: p_j = [(alpha - 1) z_j - tau]+^(1 / (alpha - 1)) with sum 1, z_j = beta e_j.
//
// With a = alpha - 1 and g_j the gap of z_j to the largest, a key can have weight only if a g_j < 1: the
// others are never looked at. Instead of tau we solve for L = -ln p_max, in [0, ln n]:
//
//   p_j = exp(-L + log1p(-u_j) / a),  u_j = a g_j exp(a L)
//
// which goes over to softmax, exp(-L - g_j), as a -> 0 without any cancellation. In z shifted by its
// maximum, tau = -exp(-a L).
#pragma once

#include <span>

#include "normalizer/definition.h"

namespace sharpmax {

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

inline constexpr double kLargestAlpha = 16.0;
inline constexpr double kLargestAlphaBackward = 2.0;
inline constexpr std::string_view kEntmaxNoBackward =
    "above alpha = 2 the slope at the edge of the support is unbounded";

// The kernels' rule. In float the power 1 / (alpha - 1) multiplies relative errors by as much, so nearly
// plain softmax goes through the specification, and softmax itself through its own kernel.
Rule threshold_rule(double alpha, double beta) noexcept;

}  // namespace sharpmax
