// One row of attention in the terms of paper B: keys taken, distances, separability, change of the weights.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::audit {

// The loops over the keys of one row that all of paper B's measurements come down to. SIMD in double, one
// thread, sums in an order that depends on the number of keys and the instruction set alone. NaN goes
// through.
//
// With y_i = c_i x_i and s the sum of the y of the keys taken, |s - y_i|^2 = |s|^2 + c_i^2 x_i.x_i - 2 c_i
// (s.x_i): `own` is c_i^2 x_i.x_i, `twice` 2 c_i, `projection` s.x_i. Rounding may leave such a square below
// 0 where the two are almost the same; it is 0 then.

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
// The least |s - y_i|^2 over the keys left out; infinite if there is none.
double least_square(const RowParts& row, double square);

// Sum of sqrt(constant + by_first first[i] + by_second second[i]).
double sum_of_roots(double constant, double by_first, const double* first, double by_second,
                    const double* second, std::int64_t keys);

// reach[i] = max(reach[i], square_j - 2 gram[i]): with x_i.x_i added, the largest |x_i - x_j|^2 over the keys
// j taken.
void raise_reach(double square_j, const double* gram, std::int64_t keys, double* reach);
// The largest first[i] + second[i] where left[i] is 1; -infinity if there is none.
double largest_sum(const double* first, const double* second, const double* left, std::int64_t keys);

// out[i] = exp((scores[i] + step direction[i] - highest) rate), and their sum. direction null: none.
double exponentials(const double* scores, const double* direction, double step, double highest, double rate,
                    std::int64_t keys, double* out);
double highest_of(const double* scores, const double* direction, double step, std::int64_t keys);
// Sum of (first[i] by_first - second[i] by_second)^2.
double squared_difference(const double* first, double by_first, const double* second, double by_second,
                          std::int64_t keys);

// Which N keys of a row are taken: those with most weight, or some drawn at random.

// The keys of the `count` largest weights, largest first; of equal weights the lowest key first. The first N
// are the paper's I_N for every N up to count. Weights are finite.
void top_keys(std::span<const double> weights, std::int64_t count, std::vector<std::int32_t>& keys);

// The first `count` of a random order of `all` keys: the first N are a random selection for every N. The same
// for the same `row` of the same random numbers; rows do not share any as long as `count` is below 2^22.
void random_keys(const CounterRandom& random, std::uint64_t row, std::int64_t all, std::int64_t count,
                 std::vector<std::int32_t>& keys);

// A growing selection of the keys of one row: s = sum of y_i over the keys taken, y_i = c_i x_i, held only by
// its products with the x, which the Gram matrix gives. Taking a key and every question costs O(keys).

// The vectors x of the keys that a row sees, by their products. gram[i * stride + j] = x_i.x_j
struct GramView {
  const double* data = nullptr;
  std::int64_t keys = 0, stride = 0;

  const double* row(std::int64_t key) const { return data + key * stride; }
  double square(std::int64_t key) const { return data[key * stride + key]; }
};

class RowSelection {
 public:
  // `c`: [gram.keys], both outlive the selection. What was taken before is put back.
  void start(const GramView& gram, const double* c);
  void take(std::int64_t key);            // not taken yet
  double take_and_sum(std::int64_t key);  // distances() after it, in one sweep

  double square() const { return square_ < 0 ? 0.0 : square_; }            // |s|^2
  double distances() const { return sum_of_distances(parts(), square_); }  // sum over keys left of |s - y_i|
  double least_square_left() const { return least_square(parts(), square_); }  // least |s - y_i|^2 of them
  double square_to(std::int64_t key) const;                                    // |s - y_i|^2
  double own(std::int64_t key) const { return own_[static_cast<std::size_t>(key)]; }  // |y_i|^2
  const double* own() const { return own_.data(); }
  const double* left() const { return left_.data(); }

 private:
  void count_in(std::int64_t key);
  RowParts parts() const {
    return {gram_.keys, own_.data(), twice_.data(), projection_.data(), left_.data()};
  }

  GramView gram_;
  const double* c_ = nullptr;
  double square_ = 0.0;
  std::vector<double> own_, twice_, projection_, left_;
};

// How far what a row selects is from what it leaves out (paper B, theorem 1), for many N in one sweep.
//
// y_i = weight_i x_i, s the sum of y over the N keys taken, n the keys that the row sees. Two readings of the
// distance: the sum over the keys left of |s - y_i|, and the norm |sum over the keys left of y_i - s|.

// One reading of the distance: of one row, or a sum or mean over rows.
struct Distance {
  double chosen = 0.0;        // the N keys with most weight are taken
  double drawn = 0.0;         // N keys at random are: the mean of some draws, which estimates the expectation
  double drawn_bound = 0.0;   // closed form, at least that expectation (Jensen: a root of a mean of squares)
  double chosen_bound = 0.0;  // at least `chosen`, by theorem 1.1; NaN where its hypotheses do not hold
};

struct Distances {
  Distance sum;
  Distance norm;

  Distances& operator+=(const Distances& other);
  Distances divided_by(double count) const;
};

// One row of attention weights over the keys that it sees.
struct WeighedRow {
  GramView gram;
  const double* weights = nullptr;  // [key]
  const double* output = nullptr;   // [key] x_i . sum of all y
};

struct DistancePlan {
  std::vector<std::int64_t> tops;  // N, ascending, at least 1
  std::vector<bool> bounded;       // for each N: whether chosen_bound is measured
  int draws = 1;
};

// Rows of one head: keeps the workspace.
class RowDistances {
 public:
  // For every N of the plan below the number of keys: out[index of N] += distances. `row` and `random` say
  // which keys are drawn; the draws of one row must not be those of another.
  void add(const WeighedRow& row, const DistancePlan& plan, const CounterRandom& random,
           std::uint64_t row_number, std::span<Distances> out);

 private:
  struct Moments;  // of all y of the row
  void add_chosen(const WeighedRow& row, const DistancePlan& plan, const Moments& all,
                  std::span<Distances> out);
  void add_chosen_bounds(const WeighedRow& row, const Moments& all, std::size_t taken, double weight,
                         double longest, Distances& out) const;
  double take_up_to(std::size_t count, std::size_t taken);
  void add_drawn(const DistancePlan& plan, const Moments& all, std::span<Distances> out);
  void add_drawn_bounds(const DistancePlan& plan, const Moments& all, std::span<Distances> out) const;

  RowSelection selection_;
  std::vector<std::int32_t> keys_;
  std::vector<double> products_, squares_, reach_;  // [key] y_i . sum of all y, |x_i|^2, raise_reach()
};

// The keys that a row selects and that can be separated from those left out (paper B, theorem 2): vectors at
// unit length, y_i = weight_i x_i / |x_i|, s the sum over the N keys with most weight, r the least |s - y_i|
// over the keys left out; the measure is the share of the N with |s - y_i| < r. A vector of length 0 stays 0.

struct Separability {
  double share = 0.0;    // of the N keys, or a sum or mean of such shares
  double bound = 0.0;    // at most the share, theorem 2 by Markov; at or below 0 it says nothing
  double counted = 0.0;  // at most the share, from the same reaches without Markov; never below the other
};

class RowSeparability {
 public:
  // For every N of `tops` (ascending) below the number of keys: out[index of N] += separability. row.output
  // is not looked at.
  void add(const WeighedRow& row, std::span<const std::int64_t> tops, std::span<Separability> out);

 private:
  double share_of(std::size_t taken, double least) const;
  void add_bounds(const WeighedRow& row, std::size_t taken, double least, double closest,
                  Separability& out) const;
  double closest_of(const WeighedRow& row, std::size_t taken) const;

  RowSelection selection_;
  std::vector<std::int32_t> keys_;
  std::vector<double> unit_weights_, lengths_;  // [key] weight / |x|, 1 / |x|
};

// How much weights move when scores do (paper B, corollary 3): g(T, e) = |w((l + e v) / T) - w(l / T)| / e
// for a random direction v of length 1, where w is the head's normalizer; softmax in the paper.

// v for a row of `keys` scores, from the random numbers of that row: length 1, uniform over directions.
void random_direction(const CounterRandom& random, std::uint64_t row, std::int64_t keys,
                      std::vector<double>& v);

struct GradientPlan {
  std::vector<double> temperatures;  // T > 0
  std::vector<double> steps;         // e > 0
};

class RowGradient {
 public:
  RowGradient(const GradientPlan& plan, const AnyNormalizer& normalizer);

  // out[temperature, step] += g. Scores are finite; a row that is not gives NaN.
  void add(std::span<const double> scores, std::span<const double> direction, std::span<double> out);

 private:
  void add_softmax(std::span<const double> scores, std::span<const double> direction, std::span<double> out);
  void add_any(std::span<const double> scores, std::span<const double> direction, std::span<double> out);

  const GradientPlan& plan_;
  AnyNormalizer normalizer_;
  bool softmax_;
  double beta_ = 1.0;
  std::vector<double> before_, after_, scores_, weights_;
};

}  // namespace sharpmax::audit
