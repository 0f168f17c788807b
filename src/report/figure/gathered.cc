#include "report/figure/gathered.h"

namespace sharpmax::report {

std::string as_file_name(std::string_view name) {
  constexpr std::size_t kMost = 40;
  std::string safe;
  for (const char c : name.substr(0, kMost)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || c == '_')
      safe += c;
    else if (!safe.empty() && safe.back() != '-')
      safe += '-';
  }
  while (safe.ends_with('-')) safe.pop_back();
  return safe.empty() ? "other" : safe;
}

}  // namespace sharpmax::report
