#include "base/numbers.h"

#include <charconv>
#include <cmath>

namespace sharpmax {

std::optional<double> parse_decimal(std::string_view text) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // "inf" and "nan" read as numbers too, and are none here.
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string decimal_text(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return std::string(buffer, end);
}

}  // namespace sharpmax
