#include "report/figure/drawing/words.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "report/figure/drawing/utf8.h"

namespace sharpmax::report {
namespace {

constexpr std::string_view kNarrowSpace = "\u202f";

// 1.0e-5, as JavaScript writes it: the exponent without zeros in front.
std::string exponential(double value) {
  std::string text = fmt::format("{:.1e}", value);
  const std::size_t e = text.find('e');
  std::size_t first = e + 2;
  while (first + 1 < text.size() && text[first] == '0') text.erase(first, 1);
  if (text[e + 1] == '+') text.erase(e + 1, 1);
  return text;
}

// An exponent.
std::string raised(long number) {
  static constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text(number < 0 ? "⁻" : "");
  for (const char digit : std::to_string(std::abs(number))) text += kDigits[digit - '0'];
  return text;
}

}  // namespace

std::string count(double n) {
  const std::string digits = fmt::format("{:.0f}", std::abs(n));
  std::string grouped(n <= -0.5 ? "-" : "");
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string short_count(double n) {
  constexpr double k = 1024.0;
  if (n >= k * k && std::fmod(n, k * k) == 0.0) return fmt::format("{}M", n / (k * k));
  if (n >= k && std::fmod(n, k) == 0.0) return fmt::format("{}K", n / k);
  return plain_number(n);
}

std::string percent(double share) {
  if (share == 0.0 || share == 1.0) return fmt::format("{}{}%", 100.0 * share, kNarrowSpace);
  for (const int digits : {1, 2}) {
    const std::string text = fmt::format("{:.{}f}", 100.0 * share, digits);
    if (const double said = std::strtod(text.c_str(), nullptr); said > 0.0 && said < 100.0)
      return fmt::format("{}{}%", text, kNarrowSpace);
  }
  return fmt::format("{}{}%", share < 0.5 ? "<0.01" : ">99.99", kNarrowSpace);
}

std::string decimal(double value, int digits) {
  if (value != 0.0 && std::abs(value) < 0.5 * std::pow(10.0, -digits)) return exponential(value);
  return std::abs(value) >= 1e5 ? count(value) : fmt::format("{:.{}f}", value, digits);
}

std::string plain_number(double value) {
  if (value == 0.0) return "0";
  const double size = std::abs(value);
  return size >= 1e-4 && size < 1e7 ? fmt::format("{:.6g}", value) : exponential(value);
}

std::string power_of_ten(double value) {
  const long exponent = std::lround(std::log10(value));
  if (exponent < -3 || exponent > 4) return "10" + raised(exponent);
  return fmt::format("{:g}", std::pow(10.0, exponent));
}

std::string size_from_log10(double log10) {
  if (log10 < 9.0) return count(std::ceil(std::pow(10.0, log10)));
  return "~10" + raised(std::lround(log10));
}

std::string plural(double n, std::string_view word) {
  return fmt::format("{} {}{}", count(n), word, n == 1.0 ? "" : "s");
}

std::string shown(std::string_view text) {
  const auto unseen = [](char32_t c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c & 0xfffe) == 0xfffe;
  };
  std::string out;
  for (const char32_t c : code_points(text)) {
    if (c == '\t' || c == '\n')
      out += ' ';
    else if (unseen(c))
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c));
    else
      append(out, c);
  }
  return out;
}

std::string file_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace sharpmax::report
