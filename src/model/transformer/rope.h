// Rotary positions: angles of a run of positions, and queries and keys turned by them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/architecture/configuration.h"

namespace sharpmax::model {

// Radians a position of every pair, stretched as the scaling says; and what cos and sin are multiplied by.
struct RopeFrequencies {
  std::vector<double> per_position;  // [features / 2]
  double magnitude = 1;
};
RopeFrequencies rope_frequencies(const Rope& rope);

// cos and sin for positions first .. first + count - 1, [position, pair].
class RopeTable {
 public:
  RopeTable() = default;
  explicit RopeTable(const Rope& rope);
  void fill(std::int64_t first, std::int64_t count);
  // Turns the heads of one token in place; `index` counts from the first position filled.
  void turn(std::int64_t index, float* heads, std::int64_t head_count, std::int64_t head_width) const;

 private:
  Rope rope_;
  RopeFrequencies frequencies_;
  std::vector<float> cos_, sin_;
};

}  // namespace sharpmax::model
