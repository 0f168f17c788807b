// Small words about numbers that many files need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sharpmax {

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// A count, which the interfaces hold as a signed number, as the size of a container.
constexpr std::size_t to_size(std::int64_t n) noexcept { return static_cast<std::size_t>(n); }

}  // namespace sharpmax
