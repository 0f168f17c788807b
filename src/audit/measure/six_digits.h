// Numbers in results: six digits, enough to read. What is not finite becomes not-a-number, which is null in JSON.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/numbers.h"

namespace sharpmax::audit {

inline double rounded(double value) {
  return std::isfinite(value) ? std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr) : kNaN;
}

inline nlohmann::ordered_json six_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  return rounded(value);
}

}  // namespace sharpmax::audit
