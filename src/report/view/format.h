// Numbers and text as people read them. The set of formats is closed: the page has the same one
// (page/drawing/formats.js), and tests/support/formats.json holds both to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sharpmax::report {

inline constexpr std::string_view kNone = "–";  // what was not measured

struct Format {
  enum Kind { text, count, short_count, percent, points, fixed, signed_fixed, plain, weight, keys, power, spread, p, bytes, code };
  Kind kind = text;
  int digits = 0;  // of fixed and signed_fixed

  bool operator==(const Format&) const = default;
};
inline constexpr Format kText{Format::text}, kCount{Format::count}, kShortCount{Format::short_count}, kShare{Format::percent},
    kPoints{Format::points}, kPlain{Format::plain}, kWeight{Format::weight}, kKeys{Format::keys}, kPower{Format::power},
    kSpread{Format::spread}, kP{Format::p}, kBytes{Format::bytes};
inline constexpr Format kCode{Format::code};  // a text that is the name of a normalizer, a file or a command
constexpr Format fixed_to(int digits) { return {Format::fixed, digits}; }
constexpr Format signed_to(int digits) { return {Format::signed_fixed, digits}; }

// As in the JSON of a view: "count", "fixed3".
std::string name_of(Format format);
std::optional<Format> format_named(std::string_view name);

// A number that is not one is kNone.
std::string formatted(Format format, double value);
std::string formatted(Format format, const std::optional<double>& value);

std::string count(double n);                          // 16,384
std::string short_count(double n);                    // 16K: for axes, where sizes are powers of two
std::string percent(double share);                    // 98.6 %, never 100 % for what is not all
std::string decimal(double value, int digits = 3);    // 0.123; 1.2e-5 where that would be 0
std::string change(double value, int digits = 3);     // +0.123, −0.123, ±0.000
std::string plain_number(double value);               // 0.25, 1.5, 1e-5: shortest
std::string weight_text(double value);                // 0.123, 0.999…, 1.0e-5
std::string keys_text(double n);                      // 16,384; 1.0e+20
std::string power_of_ten(double value);               // 0.01, 10⁻⁷
std::string size_from_log10(double log10);            // 16,384; ~10²³
std::string spread_text(double value);                // 12.3; 1,234
std::string p_value(double p);                        // 0.012; 1.2e-5
std::string bytes_text(double bytes);                 // 1.2 GB
std::string plural(double n, std::string_view word);  // 3 heads

// Valid UTF-8 whose characters can be seen: those that cannot, or that turn the writing direction, as
// escapes.
std::string shown(std::string_view text);
// The end of a path.
std::string file_name(std::string_view path);

// UTF-8, of text that may not be UTF-8 at all: bytes that are no part of a character become U+FFFD.
std::u32string code_points(std::string_view text);
void append(std::string& text, char32_t character);

}  // namespace sharpmax::report
