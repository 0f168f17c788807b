#include "base/numbers.h"

#include <charconv>
#include <cmath>

#include "sharpmax/tensor.h"

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

const char* name_of(DType type) noexcept {
  switch (type) {
    case DType::float32: return "float32";
    case DType::bfloat16: return "bfloat16";
    case DType::float16: return "float16";
    case DType::float64: return "float64";
  }
  return "unknown type";
}

}  // namespace sharpmax
