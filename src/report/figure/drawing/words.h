// Numbers and text as people read them in a figure: the same words as the page's (page/words.js,
// page/dom.js).
#pragma once

#include <string>
#include <string_view>

namespace sharpmax::report {

inline constexpr std::string_view kNone = "–";

std::string count(double n);                          // 16,384
std::string short_count(double n);                    // 16K: for axes, where sizes are powers of two
std::string percent(double share);                    // 98.6 %, never 100 % for what is not all
std::string decimal(double value, int digits = 3);    // 0.123; 1.2e-5 where that would be 0
std::string plain_number(double value);               // 0.25, 1.5, 1e-5: shortest
std::string power_of_ten(double value);               // 0.01, 10⁻⁷
std::string size_from_log10(double log10);            // 16,384; ~10²³
std::string plural(double n, std::string_view word);  // 3 heads

// Valid UTF-8 whose characters can be seen: those that cannot, or that turn the writing direction, as
// escapes.
std::string shown(std::string_view text);
// The end of a path.
std::string file_name(std::string_view path);

// How wide text of this size is at most in a usual font, in pixels; text is what shown() returns.
double width_of(std::string_view text, double size, bool bold = false);
// As much of the text as fits, with an ellipsis where it is cut.
std::string cut_to(std::string_view text, double width, double size, bool bold = false);

// UTF-8, of text that may not be UTF-8 at all.

// Bytes that are no part of a character become U+FFFD.
std::u32string code_points(std::string_view text);
void append(std::string& text, char32_t character);

}  // namespace sharpmax::report
