// What a row of weights says of itself, straight from the definitions in sharpmax/statistics.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace sharpmax {

inline constexpr std::size_t kNoKey = std::numeric_limits<std::size_t>::max();

// Of p = w / mass. Rows without mass (every key masked, or every weight 0) have none of it; a poisoned row
// has NaN.
struct Distribution {
  double mass = 0.0;
  double entropy = 0.0;  // nats
  double peak_weight = 0.0;
  double effective_support = 0.0;
  std::int64_t support = 0;
  std::size_t peak = kNoKey;  // of equal weights the lowest
};

// scores.size() == weights.size(); a score of -inf is masked.
Distribution distribution_of(std::span<const double> scores, std::span<const double> weights);

}  // namespace sharpmax
