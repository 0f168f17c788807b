// Paper B on the keys that attention selects: how far the others are from them, and how many can be separated.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sharpmax::theory {

// How far the keys that attention leaves out are from what it keeps. Paper B, theorem 1, in forms that we
// could prove (docs/design/theory.md).
//
// A row of L weights alpha, vectors x; I_N the selected N; s = sum over I_N of alpha_i x_i. Two readings of
// the paper's distance: the sum over i not in I_N of |s - alpha_i x_i| (`cumulative`, the one that grows with
// L as the paper reports), and |s - sum over i not in I_N of alpha_i x_i| (`joint`).
//
// Throws Error{bad_argument} where a hypothesis does not hold. Sums to one are asked for to 1e-6, so that
// weights computed in float will do.

enum class DistanceReading { cumulative, joint };

// What the bound for a fixed selection needs of a row. Hypotheses: weights are none negative and sum to one;
// no weight outside the selection is above the selection's sum (so it is when I_N are the N largest).
struct SelectionFacts {
  double length = 0.0;         // L
  double selected = 0.0;       // N, 1 <= N < L
  double selected_sum = 0.0;   // sum of alpha over I_N, in (0, 1]
  double largest_gap = 0.0;    // max over i not in I_N, j in I_N of |x_i - x_j|
  double selected_norm = 0.0;  // max over j in I_N of |x_j|
  double left_norm = 0.0;      // max over i not in I_N of |x_i|; the joint reading alone asks for it
};

// cumulative: (1 - a) gap + ((L - N + 1) a - 1) norm, a = selected_sum. All x equal reach it.
// joint: (1 - a) gap + (2a - 1) selected_norm for a >= 1/2, else a gap + (1 - 2a) left_norm. Likewise.
double fixed_selection_bound(const SelectionFacts& facts,
                             DistanceReading reading = DistanceReading::cumulative);

// What the bound for a random selection needs, of y_i = alpha_i x_i: with S = sum of all y.
struct GramSums {
  double length = 0.0;      // L
  double selected = 0.0;    // N, 1 <= N < L
  double squares = 0.0;     // sum of |y_j|^2
  double sum_square = 0.0;  // |S|^2
};
// E of |s - y_i|^2 over uniform selections of N out of the L - 1 others, in closed form and exact:
// `square` is |y_i|^2, `product` is y_i . S.
double expected_square_distance(const GramSums& sums, double square, double product);
// (L - N) / L sum_i sqrt(E_i): no less than the expected cumulative distance of a uniform selection of N out
// of L. One square and one product for each key.
double random_selection_bound(const GramSums& sums, std::span<const double> squares,
                              std::span<const double> products);

// ---- The same from weights and vectors [key, feature], plain and slow: for small rows and as a
// specification ----

struct WeightedRow {
  std::span<const double> weights;
  std::span<const double> vectors;  // weights.size() times `features`
  std::size_t features = 0;
};
// `selected`: indices in I_N, none twice.
double selection_distance(const WeightedRow& row, std::span<const std::size_t> selected,
                          DistanceReading reading = DistanceReading::cumulative);
// Facts of the row, with the hypotheses checked.
SelectionFacts selection_facts(const WeightedRow& row, std::span<const std::size_t> selected);
double random_selection_bound(const WeightedRow& row, std::size_t selected);

// Number of the selected keys that can be separated from those left out. Paper B, theorem 2, as far as it could be
// rebuilt (docs/design/theory.md).
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
