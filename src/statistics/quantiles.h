// A row of numbers told by some of its quantiles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace sharpmax {

// `count` quantiles, evenly spaced from the least to the largest, straight between neighbours. Of at least
// one value, and count >= 2.
inline std::vector<double> quantiles_of(std::vector<double> values, std::size_t count) {
  std::sort(values.begin(), values.end());
  std::vector<double> quantiles;
  for (std::size_t i = 0; i < count; ++i) {
    const double place =
        static_cast<double>(i) * static_cast<double>(values.size() - 1) / static_cast<double>(count - 1);
    const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, values.size() - 1);
    quantiles.push_back(std::lerp(values[below], values[above], place - std::floor(place)));
  }
  return quantiles;
}

}  // namespace sharpmax
