#include "report/figure/drawing/words.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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

// Shares of the size, of the widest of the fonts that system-ui and sans-serif usually name (DejaVu Sans,
// Verdana): a label that fits in these fits in the others. tests/doors/test_figures.py asks a browser.
constexpr double kBold = 1.13, kWide = 1.08, kOther = 0.84;

struct Width {
  std::string_view characters;
  double share;
};
constexpr Width kWidths[] = {
    {"'ijlIJ", 0.29},   {" ,.:;/\\|", 0.34}, {"-f()[]t!r", 0.41}, {"\"*_`sz?cL", 0.56}, {"FkvxyPTYaoe", 0.62},
    {"KAVBRXZC", 0.70}, {"UHNDGOQ&", 0.79},  {"w#+<=>^~M", 0.86}, {"mW@%", 1.0},
};

double share_of(char32_t c) {
  if (c >= 0x300 && c <= 0x36f) return 0.0;  // combining marks
  if (c == 0xa0 || c == 0x202f || c == 0x2019 || c == 0xb7) return 0.34;
  if (c >= 0x1100 && (c < 0x2000 || c > 0x2bff)) return kWide;  // East Asian, emoji
  if (c >= 0x80) return kOther;
  for (const Width& width : kWidths)
    if (width.characters.find(static_cast<char>(c)) != std::string_view::npos) return width.share;
  return 0.64;
}

}  // namespace

double width_of(std::string_view text, double size, bool bold) {
  double sum = 0.0;
  for (const char32_t c : code_points(text)) sum += share_of(c);
  return sum * size * (bold ? kBold : 1.0);
}

std::string cut_to(std::string_view text, double width, double size, bool bold) {
  if (width_of(text, size, bold) <= width) return std::string(text);
  std::string kept;
  double left = width / size / (bold ? kBold : 1.0) - kOther;
  for (const char32_t c : code_points(text)) {
    left -= share_of(c);
    if (left < 0.0) break;
    append(kept, c);
  }
  while (kept.ends_with(' ')) kept.pop_back();
  return kept + "…";
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
