// The loops over the keys of one row that all of paper B's measurements come down to. SIMD in double, one
// thread, sums in an order that depends on the number of keys and the instruction set alone. NaN goes
// through.
//
// With y_i = c_i x_i and s the sum of the y of the keys taken, |s - y_i|^2 = |s|^2 + c_i^2 x_i.x_i - 2 c_i
// (s.x_i): `own` is c_i^2 x_i.x_i, `twice` 2 c_i, `projection` s.x_i. Rounding may leave such a square below
// 0 where the two are almost the same; it is 0 then.
#pragma once

#include <cstdint>

namespace sharpmax::audit {

// projection[i] += c gram[i]: s grows by the key whose products with all others are `gram`.
void add_key(double c, const double* gram, std::int64_t keys, double* projection);

struct RowParts {
  std::int64_t keys = 0;
  const double* own = nullptr;         // [key]
  const double* twice = nullptr;       // [key]
  const double* projection = nullptr;  // [key]
  const double* left = nullptr;        // [key] 1 for a key left out, 0 for one taken
};
// Sum of |s - y_i| over the keys left out; `square` is |s|^2.
double sum_of_distances(const RowParts& row, double square);
// add_key() and then that, in one sweep; `projection` is the row's.
double add_key_and_sum(double c, const double* gram, const RowParts& row, double square, double* projection);
// The least |s - y_i|^2 over the keys left out; infinite where there is none.
double least_square(const RowParts& row, double square);

// Sum of sqrt(constant + by_first first[i] + by_second second[i]).
double sum_of_roots(double constant, double by_first, const double* first, double by_second,
                    const double* second, std::int64_t keys);

// reach[i] = max(reach[i], square_j - 2 gram[i]): with x_i.x_i added, the largest |x_i - x_j|^2 over the keys
// j taken.
void raise_reach(double square_j, const double* gram, std::int64_t keys, double* reach);
// The largest first[i] + second[i] where left[i] is 1; -infinity where there is none.
double largest_sum(const double* first, const double* second, const double* left, std::int64_t keys);

// out[i] = exp((scores[i] + step direction[i] - highest) rate), and their sum. direction null: none.
double exponentials(const double* scores, const double* direction, double step, double highest, double rate,
                    std::int64_t keys, double* out);
double highest_of(const double* scores, const double* direction, double step, std::int64_t keys);
// Sum of (first[i] by_first - second[i] by_second)^2.
double squared_difference(const double* first, double by_first, const double* second, double by_second,
                          std::int64_t keys);

}  // namespace sharpmax::audit
