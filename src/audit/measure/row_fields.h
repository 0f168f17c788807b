// What an audit keeps of one row of attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sharpmax/audit.h"

namespace sharpmax::audit {

inline constexpr std::size_t kRowFields = kPlainFields + kGapOctaves.size();  // RowField, in order
inline constexpr std::int64_t kTopKeys = 8;
inline constexpr std::int64_t kNear = 32;

// Rows of every head at the same places of one excerpt.
struct KeptRows {
  std::vector<std::int64_t> positions;  // of the queries, ascending
  std::vector<float> values;            // [layer, head, row, field]

  const float* row(std::int64_t heads, std::int64_t layer, std::int64_t head, std::size_t i) const {
    const std::size_t place = static_cast<std::size_t>(layer * heads + head) * positions.size() + i;
    return values.data() + place * kRowFields;
  }
  bool operator==(const KeptRows&) const = default;
};

}  // namespace sharpmax::audit
