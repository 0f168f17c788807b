// Decimal text of base/numbers.h where the C++ library has no floating-point <charconv> yet, as LLVM 14's has not. wasi-libc's
// strtod rounds correctly and knows one locale only.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/numbers.h"

namespace sharpmax {

std::optional<double> parse_decimal(std::string_view text) {
  // strtod also reads hexadecimal, "inf", leading blanks and a leading plus: none of them is a decimal number
  // here.
  if (text.empty() || text[0] == '+' || text.find_first_not_of("0123456789.eE+-") != text.npos)
    return std::nullopt;
  const std::string ended(text);
  char* stop = nullptr;
  errno = 0;
  const double value = std::strtod(ended.c_str(), &stop);
  if (errno != 0 || stop != ended.c_str() + ended.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string decimal_text(double value) { return fmt::format("{}", value); }

}  // namespace sharpmax
