#include "report/figure/gathered.h"

#include <algorithm>

namespace sharpmax::report {

void Gathered::keep(std::string name, std::string svg) {
  const auto known = [&](const std::string& one) {
    return std::any_of(figures_.begin(), figures_.end(),
                       [&](const Figure& figure) { return figure.name == one; });
  };
  std::string free = name;
  for (std::size_t k = 2; known(free); ++k) free = name + '-' + std::to_string(k);
  figures_.push_back({std::move(free), std::move(svg)});
}

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
