// How many of the selected keys can be told from those left out. Paper B, theorem 2, as far as it could be
// rebuilt (docs/theory.md).
//
// I_N the N selected keys, s = sum over I_N of alpha_j x_j, r = min over i not in I_N of |s - alpha_i x_i|.
// N_s is the number of i in I_N with |s - alpha_i x_i| < r; the measure is N_s / N.
//
// Hypotheses: no weight is negative, |x_j| <= radius, |x_j - x_k| >= separation for all j != k in I_N. Then
// for every i in I_N
//   |s - alpha_i x_i| <= xi_i,  xi_i^2 = M^2 sum_{j != i} alpha_j^2 + (M^2 - delta^2 / 2) sum_{j != k; j, k
//   != i} alpha_j alpha_k
// for *every* such row, not on average alone, because x_j . x_k <= M^2 - delta^2 / 2. Weights need not sum to
// one. Functions throw Error{bad_argument} on anything else; xi^2 below 0 says that no such vectors exist,
// and throws too.
#pragma once

#include <span>
#include <vector>

namespace sharpmax::theory {

struct SeparabilityFacts {
  std::span<const double> weights;  // alpha over I_N, N >= 1
  double radius = 1.0;              // M >= |x_j|, above 0
  double separation = 0.0;          // delta, 0 <= delta <= 2 M
};

// xi_i for each of the weights.
std::vector<double> separability_reaches(const SeparabilityFacts& facts);

// 1 - sum_i xi_i / (N r) <= N_s / N, the published lower side (by Markov). 0 or below: it says nothing. r >
// 0.
double separability_lower_bound(const SeparabilityFacts& facts, double r);
// The number of i with xi_i < r, over N: what the same reaches give without Markov. Never below the other.
double counted_separability_lower_bound(const SeparabilityFacts& facts, double r);

// The upper side as rebuilt: the mean over i of exp(-(xi_i - r)^2 / (2 M^2 sum_{j != i} alpha_j^2)) where
// xi_i > r, else 1. It takes xi_i, which is above the mean of |s - alpha_i x_i|, for that mean: a reference
// curve, not a bound. Rows above it exist.
double separability_reference(const SeparabilityFacts& facts, double r);

}  // namespace sharpmax::theory
