#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/console.h"

namespace sharpmax::cli {
namespace {

std::string_view code_of(Ink ink) {
  switch (ink) {
    case Ink::bold:
      return "\x1b[1m";
    case Ink::dim:
      return "\x1b[2m";
    case Ink::green:
      return "\x1b[32m";
    case Ink::red:
      return "\x1b[31m";
    case Ink::plain:
      break;
  }
  return "";
}

}  // namespace

bool colour_wanted() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  if (no_color && *no_color) return false;
  if (!term || std::string_view(term) == "dumb") return false;
  return prints_to_a_terminal();
}

std::string inked(std::string_view text, Ink ink, bool colour) {
  if (!colour || ink == Ink::plain) return std::string(text);
  return fmt::format("{}{}\x1b[0m", code_of(ink), text);
}

std::string Table::text(bool colour) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].text.size());
  }
  std::string out;
  for (const std::vector<Cell>& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Cell& cell = row[i];
      const std::string pad(widths[i] - cell.text.size(), ' ');
      if (i > 0) line.append(gap_, ' ');
      if (columns_[i] == Align::right) line += pad;
      line += inked(cell.text, cell.ink, colour);
      if (columns_[i] == Align::left && i + 1 < row.size()) line += pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "-";
  if (value == 0.0) return "0";
  const double size = std::fabs(value);
  if (size < 0.0005 || size >= 1e5) return fmt::format("{:.0e}", value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string short_count(long long n) {
  constexpr long long kKilo = 1024;
  if (n >= kKilo * kKilo && n % (kKilo * kKilo) == 0) return fmt::format("{}M", n / (kKilo * kKilo));
  if (n >= kKilo && n % kKilo == 0) return fmt::format("{}K", n / kKilo);
  return fmt::format("{}", n);
}

std::string closing(std::string_view answer, std::string_view purpose, std::string_view command) {
  const std::string first = answer.empty() ? "" : wrapped(answer) + "\n";
  return fmt::format("\n{}{}:\n  sharpmax {}\n", first, purpose, command);
}

}  // namespace sharpmax::cli
