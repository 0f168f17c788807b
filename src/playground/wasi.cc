// What the C++ library of wasi-libc lacks.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <exception>

#include "base/numbers.h"

// Decimal text of base/numbers.h where the C++ library has no floating-point <charconv> yet, as LLVM 14's has not. wasi-libc's
// strtod rounds correctly and knows one locale only.
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

// Exceptions: a `throw` here hands its sentence to the page. The import throws a JavaScript error, which leaves the module in
// the middle of a call, and the page then starts a fresh instance (src/report/page/playground_module.js). Catch blocks are
// dropped by the compiler.
extern "C" {

[[noreturn]] __attribute__((import_module("sharpmax"), import_name("refuse"))) void refuse(const char* sentence);

void* __cxa_allocate_exception(std::size_t bytes) { return std::malloc(bytes); }
void __cxa_free_exception(void*) {}

// Everything that this library throws is a std::exception, as its first base.
[[noreturn]] void __cxa_throw(void* thrown, void*, void (*)(void*)) {
  refuse(static_cast<const std::exception*>(thrown)->what());
}

}  // extern "C"
