// How far what a row selects is from what it leaves out (paper B, theorem 1), for many N in one sweep.
//
// y_i = weight_i x_i, s the sum of y over the N keys taken, n the keys that the row sees. Two readings of the
// distance: the sum over the keys left of |s - y_i|, and the norm |sum over the keys left of y_i - s|.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/analysis/row_selection.h"
#include "base/random.h"

namespace sharpmax::audit {

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
  std::vector<bool> bounded;       // for each N: whether chosen_bound is wanted
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

}  // namespace sharpmax::audit
