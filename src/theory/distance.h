// How far the keys that attention leaves out are from what it keeps. Paper B, theorem 1, in forms that we
// could prove (docs/theory.md).
//
// A row of L weights alpha, vectors x; I_N the selected N; s = sum over I_N of alpha_i x_i. Two readings of
// the paper's distance: the sum over i not in I_N of |s - alpha_i x_i| (`cumulative`, the one that grows with
// L as the paper reports), and |s - sum over i not in I_N of alpha_i x_i| (`joint`).
//
// Throws Error{bad_argument} where a hypothesis does not hold. Sums to one are asked for to 1e-6, so that
// weights computed in float will do.
#pragma once

#include <cstddef>
#include <span>

namespace sharpmax::theory {

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

}  // namespace sharpmax::theory
