// UTF-8, of text that may not be UTF-8 at all.
#pragma once

#include <string>
#include <string_view>

namespace sharpmax::report {

// Bytes that are no part of a character become U+FFFD.
std::u32string code_points(std::string_view text);
void append(std::string& text, char32_t character);

}  // namespace sharpmax::report
