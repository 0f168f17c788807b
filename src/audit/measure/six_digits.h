// Numbers in results: six digits, which are meant to be read; not-a-number and infinities are null.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace sharpmax::audit {

inline nlohmann::ordered_json six_digits(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

}  // namespace sharpmax::audit
