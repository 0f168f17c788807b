#include "base/numbers.h"

#include <fmt/format.h>

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

std::string duration(double seconds) {
  if (std::isnan(seconds)) return "?";
  const auto whole = static_cast<long long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string grouped(long long n) {
  const std::string digits = fmt::format("{}", n);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string one_decimal(double value) {
  return value < 100 ? fmt::format("{:.1f}", value) : grouped(std::llround(value));
}

std::string share_left(double done, double whole, double seconds) {
  const double share = whole > 0 ? done / whole : 1.0;
  const double left = share > 0 ? seconds * (1.0 - share) / share : std::nan("");
  return fmt::format("{:.0f} %, {} left", 100.0 * share, duration(left));
}

}  // namespace sharpmax
