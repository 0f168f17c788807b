// Tables for people: aligned columns, colour where the terminal wants it, text wrapped at 80.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"

namespace sharpmax::cli {

inline constexpr std::size_t kScreenWidth = 80;

enum class Ink { plain, bold, dim, green, red };

// Whether standard output shows colour: a terminal, no NO_COLOR, TERM not "dumb".
bool colour_wanted();

struct Cell {
  std::string text;
  Ink ink = Ink::plain;
};

enum class Align { left, right };

class Table {
 public:
  explicit Table(std::vector<Align> columns, std::size_t gap = 2) : columns_(std::move(columns)), gap_(gap) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  std::string text(bool colour) const;

 private:
  std::vector<Align> columns_;
  std::size_t gap_;  // spaces between columns
  std::vector<std::vector<Cell>> rows_;
};

std::string inked(std::string_view text, Ink ink, bool colour);

// Words refilled into lines of at most `width`, every one but the first indented.
std::string wrapped(std::string_view text, std::size_t width = kScreenWidth, std::size_t indent = 0);

// A weight or a share in five columns: 0.992, 3e-05, 0.
std::string short_number(double value);
// 16, 256, 1K, 64K, 1M where a power of two allows; all digits elsewhere.
std::string short_count(long long n);
using sharpmax::duration;
using sharpmax::grouped;

// The end of a command's text: an answer in one sentence, or nothing if the text ends in one already, and the command to
// try next. purpose: "To see whether a normalizer helps". command: the words after `sharpmax`, fit to be typed.
std::string closing(std::string_view answer, std::string_view purpose, std::string_view command);

}  // namespace sharpmax::cli
