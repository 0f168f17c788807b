// The family as JSON text. By hand, because a JSON library would be most of a module that is sent with every
// page.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace sharpmax::playground {

// More than a page can show; every rule stays quick enough to follow a slider.
inline constexpr std::size_t kLargestRow = 65'536;

// As RowStatistics names them (sharpmax/statistics.h).
inline constexpr std::array<std::string_view, 9> kStatistics = {
    "entropy", "peak_weight", "peak_key",  "effective_support", "support",
    "mass",    "temperature", "threshold", "log_partition"};

std::string family_json();

}  // namespace sharpmax::playground
