#include "job/words.h"

#include <fmt/format.h>

#include <cmath>

namespace sharpmax {

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
