// What an audit keeps of one row of attention.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sharpmax/statistics.h"

namespace sharpmax::audit {

// "Outside" leaves the first token out, the sink of many heads: weights there are those of the other keys,
// over their sum. NaN where nothing to speak of lies outside.
enum class RowField : std::size_t {
  keys,              // n, unmasked
  entropy,           // nats
  peak,              // the largest weight
  first,             // the weight of the first token
  peak_outside,      // the largest weight outside
  entropy_outside,   // nats
  support,           // keys with weight > 0
  spread,            // largest less least score
  distance_outside,  // tokens from the query back to the heaviest key outside
  near_outside,      // of the weight outside, what the heaviest kTopKeys keys carry within kNear tokens
  gaps,              // and the next seven: keys within kGapOctaves[i] of the largest score
};
inline constexpr std::size_t kPlainFields = static_cast<std::size_t>(RowField::gaps);
inline constexpr std::size_t kRowFields = kPlainFields + kGapOctaves.size();
inline constexpr std::array<std::string_view, kPlainFields> kFieldNames = {
    "keys",   "entropy",          "peak",        "first", "peak_outside", "entropy_outside", "support",
    "spread", "distance_outside", "near_outside"};

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
