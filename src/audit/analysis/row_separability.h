// Which of the keys that a row selects can be told apart from those left out (paper B, theorem 2): vectors at
// unit length, y_i = weight_i x_i / |x_i|, s the sum over the N keys with most weight, r the least |s - y_i|
// over the keys left out; the measure is the share of the N with |s - y_i| < r. A vector of length 0 stays 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/analysis/row_distances.h"

namespace sharpmax::audit {

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

}  // namespace sharpmax::audit
