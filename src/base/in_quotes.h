// Text from outside, made fit to print: in quotes, anything unprintable escaped, long text cut.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sharpmax {

// Printable ASCII, all of it.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return fmt::format("'{}{}'", escaped(text.substr(0, kShown)), text.size() > kShown ? "..." : "");
}

}  // namespace sharpmax
