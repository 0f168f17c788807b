#include "report/view/format.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace sharpmax::report {
namespace {

constexpr char32_t kReplacement = 0xfffd;

struct Found {
  char32_t character;
  std::size_t bytes;
};

// The character at the beginning of the text, which is not empty.
Found first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {kReplacement, 1};
  char32_t character = lead & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {kReplacement, 1};
    character = character << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < kLeast[bytes] || character > 0x10ffff || surrogate) return {kReplacement, 1};
  return {character, bytes};
}

}  // namespace

std::u32string code_points(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const Found found = first_of(text);
    out += found.character;
    text.remove_prefix(found.bytes);
  }
  return out;
}

void append(std::string& text, char32_t c) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

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

namespace {

// As JavaScript's toFixed() has it: exact halves go away from 0.
std::string fixed_text(double value, int digits) {
  constexpr int kMore = 30;
  const std::string exact = fmt::format("{:.{}f}", std::abs(value), digits + kMore);
  const std::string_view rest = std::string_view(exact).substr(exact.size() - kMore);
  const bool tie = rest[0] == '5' && rest.find_first_not_of('0', 1) == rest.npos;
  return fmt::format("{:.{}f}", tie ? std::nextafter(value, value * 2.0) : value, digits);
}

}  // namespace

std::string count(double n) {
  const double whole = std::floor(n + 0.5);
  const std::string digits = fmt::format("{:.0f}", std::abs(whole));
  std::string grouped(whole < 0.0 ? "-" : "");
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
    const std::string text = fixed_text(100.0 * share, digits);
    if (const double said = std::strtod(text.c_str(), nullptr); said > 0.0 && said < 100.0)
      return fmt::format("{}{}%", text, kNarrowSpace);
  }
  return fmt::format("{}{}%", share < 0.5 ? "<0.01" : ">99.99", kNarrowSpace);
}

std::string decimal(double value, int digits) {
  if (value != 0.0 && std::abs(value) < 0.5 * std::pow(10.0, -digits)) return exponential(value);
  return std::abs(value) >= 1e5 ? count(value) : fixed_text(value, digits);
}

std::string plain_number(double value) {
  if (value == 0.0) return "0";
  const double size = std::abs(value);
  if (size < 1e-4 || size >= 1e7) return exponential(value);
  const std::string text = fmt::format("{:.6g}", value);
  return text.find('e') == text.npos ? text : fmt::format("{:.0f}", std::strtod(text.c_str(), nullptr));
}

std::string change(double value, int digits) {
  const std::string sign = value > 0.0 ? "+" : value < 0.0 ? "−" : "±";
  return sign + fixed_text(std::abs(value), digits);
}

std::string weight_text(double value) {
  if (value == 0.0 || value == 1.0) return fmt::format("{}", value);
  if (!(value >= 0.001)) return exponential(value);
  return 1.0 - value < 5e-4 ? "0.999…" : fixed_text(value, 3);
}

std::string keys_text(double n) {
  constexpr double kLargestWhole = 1e15;  // beyond it digits are noise
  return n <= kLargestWhole ? count(n) : fmt::format("{:.1e}", n);
}

std::string spread_text(double value) { return value < 100.0 ? fixed_text(value, 1) : count(value); }

std::string p_value(double p) { return p < 0.001 ? exponential(p) : fixed_text(p, 3); }

std::string bytes_text(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < std::size(kUnits)) bytes /= 1000.0, ++unit;
  return fmt::format("{} {}", fixed_text(bytes, unit == 0 ? 0 : 1), kUnits[unit]);
}

std::string power_of_ten(double value) {
  const long exponent = std::lround(std::log10(value));
  if (exponent < -3 || exponent > 4) return "10" + raised(exponent);
  return exponent < 0 ? fmt::format("{:g}", std::pow(10.0, exponent)) : count(std::round(std::pow(10.0, exponent)));
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

namespace {

constexpr std::string_view kFormats[] = {"text",   "count", "short", "percent", "points", "fixed", "signed",
                                         "plain", "weight", "keys",  "power", "spread",  "p",      "bytes", "text"};

}  // namespace

std::string name_of(Format format) {
  const std::string name(kFormats[format.kind]);
  const bool digits = format.kind == Format::fixed || format.kind == Format::signed_fixed;
  return digits ? name + std::to_string(format.digits) : name;
}

std::optional<Format> format_named(std::string_view name) {
  for (int kind = 0; kind < static_cast<int>(std::size(kFormats)); ++kind)
    for (int digits = 0; digits <= 6; ++digits)
      if (const Format format{static_cast<Format::Kind>(kind), digits}; name_of(format) == name) return format;
  return std::nullopt;
}

std::string formatted(Format format, double value) {
  if (std::isnan(value)) return std::string(kNone);
  switch (format.kind) {
    case Format::text:
    case Format::code:
    case Format::plain:
      return plain_number(value);
    case Format::count:
      return count(value);
    case Format::short_count:
      return short_count(value);
    case Format::percent:
      return percent(value);
    case Format::points:
      return change(100.0 * value, 1);
    case Format::fixed:
      return decimal(value, format.digits);
    case Format::signed_fixed:
      return change(value, format.digits);
    case Format::weight:
      return weight_text(value);
    case Format::keys:
      return keys_text(value);
    case Format::power:
      return size_from_log10(value);
    case Format::spread:
      return spread_text(value);
    case Format::p:
      return p_value(value);
    case Format::bytes:
      return bytes_text(value);
  }
  return std::string(kNone);
}

std::string formatted(Format format, const std::optional<double>& value) {
  return value ? formatted(format, *value) : std::string(kNone);
}

}  // namespace sharpmax::report
