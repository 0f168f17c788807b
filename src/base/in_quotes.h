// Text from outside, made fit to print: in quotes, anything unprintable escaped, long text cut.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sharpmax {

inline std::string in_quotes(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kShown)) {
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
  return out + (text.size() > kShown ? "...'" : "'");
}

}  // namespace sharpmax
