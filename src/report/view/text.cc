#include "report/view/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace sharpmax::report {
namespace {

std::size_t length_of(std::string_view text) { return code_points(text).size(); }

struct Typed {
  char32_t character;
  std::string_view text;
};
constexpr Typed kTyped[] = {{U'–', "-"},      {U'−', "-"},  {U'\u202f', " "}, {U'\u00a0', " "}, {U'’', "'"}, {U'‘', "'"}, {U'“', "\""},
                            {U'”', "\""},     {U'…', "..."}, {U'±', "+-"},     {U'→', "->"},     {U'×', "x"}, {U'ε', "e"}, {U'β', "beta"},
                            {U'τ', "tau"},    {U'√', "sqrt "}};
constexpr std::u32string_view kRaised = U"⁰¹²³⁴⁵⁶⁷⁸⁹";

// Characters that every terminal has in place of those of fine print.
std::string typed(std::string_view text) {
  std::string out;
  bool raised = false;
  for (const char32_t c : code_points(shown(text))) {
    const std::size_t digit = kRaised.find(c);
    if (digit != kRaised.npos) out += (raised ? "" : "^") + std::to_string(digit);
    raised = digit != kRaised.npos;
    if (raised) continue;
    const auto found = std::find_if(std::begin(kTyped), std::end(kTyped), [&](const Typed& one) { return one.character == c; });
    if (found == std::end(kTyped))
      append(out, c);
    else
      out += found->text;
  }
  return out;
}

std::string in_bold(const std::string& text, const TextStyle& style) {
  return style.colour && !text.empty() ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string cut(const std::string& text, std::size_t room) {
  const std::u32string all = code_points(text);
  if (all.size() <= room) return text;
  std::string kept;
  for (const char32_t c : all.substr(0, room - 3)) append(kept, c);
  return kept + "...";
}

struct Laid {
  std::vector<std::vector<std::string>> lines;  // [line][column], the heading first
  std::vector<bool> left;
  std::vector<std::size_t> widths;
};

Laid laid(const Table& table, const TextStyle& style) {
  Laid made;
  const std::size_t most_rows = style.every_row ? table.rows.size() : table.brief_rows.value_or(table.rows.size());
  const std::size_t rows = std::min(table.rows.size(), most_rows);
  made.lines.resize(1 + rows);
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    const Column& column = table.columns[k];
    if (column.hidden || !column.brief || column.bar) continue;
    made.left.push_back(column.left());
    made.lines[0].push_back(typed(column.name));
    for (std::size_t i = 0; i < rows; ++i)
      made.lines[i + 1].push_back(typed(shown_in(table.rows[i][k], column)));
    // A long text is cut, so that no line is wider than the screen.
    constexpr std::size_t kGap = 2;
    const std::size_t room = made.widths.empty() ? style.width / 2 : style.width - kGap - made.widths[0];
    std::size_t most = 0;
    for (auto& line : made.lines) {
      line.back() = cut(line.back(), room);
      most = std::max(most, length_of(line.back()));
    }
    made.widths.push_back(most);
  }
  return made;
}

// Columns from `first` on that fit beside the first one, which every block repeats.
std::size_t block_end(const Laid& table, std::size_t first, std::size_t gap, std::size_t width) {
  std::size_t taken = table.widths[0], end = first;
  while (end < table.widths.size() && (end == first || taken + gap + table.widths[end] <= width))
    taken += gap + table.widths[end++];
  return end;
}

std::string padded(const std::string& text, std::size_t width, bool left, const std::string& inked) {
  const std::string pad(width - length_of(text), ' ');
  return left ? inked + pad : pad + inked;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string shown_in(const Cell& cell, const Column& column) {
  if (!cell.text.empty()) return cell.text;
  if (cell.is_number()) return formatted(column.format, cell.value);
  return cell.is_words() ? cell.words : std::string(kNone);
}

std::string as_text(const Table& table, const TextStyle& style) {
  const Laid made = laid(table, style);
  if (made.widths.empty()) return "";
  const std::size_t columns = made.widths.size();
  const std::size_t gap = block_end(made, 1, 3, style.width) == columns ? 3 : 2;
  std::string text;
  for (std::size_t first = 1, end = 1; first < columns || first == 1; first = end) {
    end = columns == 1 ? 2 : block_end(made, first, gap, style.width);
    if (first > 1) text += "\n";
    for (std::size_t i = 0; i < made.lines.size(); ++i) {
      const bool bold = i == 0 || table.chosen == i - 1;
      const auto cell = [&](std::size_t k) {
        const std::string& words = made.lines[i][k];
        return padded(words, made.widths[k], made.left[k], bold ? in_bold(words, style) : words);
      };
      std::string line = cell(0);
      for (std::size_t k = first; k < std::min(end, columns); ++k) line += std::string(gap, ' ') + cell(k);
      text += without_trailing_spaces(std::move(line));
    }
  }
  return text;
}

std::string refilled(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (column > indent && column + 1 + length_of(word) > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length_of(word);
  }
  return out;
}

namespace {

std::string as_text(const Item& item, const TextStyle& style);

std::string paragraph(const std::string& text, const TextStyle& style) {
  return text.empty() ? "" : refilled(typed(text), style.width) + "\n";
}

std::string text_of(const Table& table, const TextStyle& style) {
  const bool wanted = table.brief && (style.every_row || table.brief_rows != 0);
  return wanted ? report::as_text(table, style) : "";
}
std::string text_of(const Note& note, const TextStyle& style) { return paragraph(note.text.text(), style); }
std::string text_of(const CommandLine& line, const TextStyle& style) {
  return paragraph(line.words, style) + "  " + typed(line.text) + "\n";
}
std::string text_of(const Facts& facts, const TextStyle& style) {
  std::size_t most = 0;
  for (const auto& [name, value] : facts.pairs) most = std::max(most, length_of(typed(name)));
  std::string text;
  for (const auto& [name, value] : facts.pairs) {
    const std::string key = typed(name);
    text += refilled(in_bold(key, style) + std::string(most - length_of(key) + 2, '\1') + typed(value), style.width,
                     most + 2) +
            "\n";
  }
  std::replace(text.begin(), text.end(), '\1', ' ');  // spaces that refilling must keep
  return text;
}
std::string text_of(const Choice& choice, const TextStyle& style) {
  std::string text;
  for (const Item& item : choice.options.at(choice.shown).items) text += as_text(item, style);
  return text;
}
template <class Picture>
std::string text_of(const Picture&, const TextStyle&) {
  return "";
}

std::string as_text(const Item& item, const TextStyle& style) {
  return std::visit([&](const auto& value) { return text_of(value, style); }, item.value);
}

std::string as_text(const Section& section, const TextStyle& style) {
  std::string text;
  for (const Item& item : section.items) {
    const std::string more = as_text(item, style);
    if (!text.empty() && !more.empty() && !std::holds_alternative<Note>(item.value)) text += "\n";
    text += more;
  }
  return text;
}

}  // namespace

std::string as_text(const View& view, const TextStyle& style) {
  std::string text;
  for (const Words& words : view.verdict) text += paragraph(words.text(), style);
  const auto printed = std::count_if(view.sections.begin(), view.sections.end(), [](const Section& s) { return s.brief; });
  for (const Section& section : view.sections) {
    if (!section.brief) continue;
    const std::string body = as_text(section, style);
    if (body.empty()) continue;
    if (!text.empty()) text += "\n";
    if (printed > 1 && !section.heading.empty()) text += paragraph(section.heading + ":", style);
    text += body;
  }
  return text;
}

namespace {

std::string csv_text(std::string_view given) {
  std::string text = shown(given);
  const std::size_t first = text.find_first_not_of(" \t");
  if (first != std::string::npos && std::string_view("=+-@").find(text[first]) != std::string_view::npos) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos && !text.starts_with(' ') && !text.ends_with(' ')) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_cell(const Cell& cell) {
  if (cell.is_number()) return std::isfinite(cell.value) ? fmt::format("{}", cell.value) : "";
  return cell.is_words() ? csv_text(cell.words) : "";
}

// Of every column that is wanted, joined.
template <class Wanted, class Each>
std::string joined(const Table& table, const char* between, const Wanted& wanted, const Each& each) {
  std::string line;
  bool any = false;
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    if (!wanted(table.columns[k])) continue;
    line += (any ? between : "") + each(k);
    any = true;
  }
  return line;
}

}  // namespace

std::string as_csv(const Table& table) {
  const auto wanted = [](const Column& column) { return column.csv && !column.bar; };
  std::string text = joined(table, ",", wanted, [&](std::size_t k) { return csv_text(table.columns[k].name); }) + "\n";
  for (const auto& row : table.rows)
    text += joined(table, ",", wanted, [&](std::size_t k) { return csv_cell(row[k]); }) + "\n";
  return text;
}

std::string as_markdown(const Table& table) {
  const auto wanted = [](const Column& column) { return !column.hidden && !column.bar; };
  const auto line = [&](const auto& each) { return "| " + joined(table, " | ", wanted, each) + " |\n"; };
  const auto safe = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  std::string text = line([&](std::size_t k) { return safe(shown(table.columns[k].name)); });
  text += "|" + joined(table, "|", wanted, [&](std::size_t k) { return std::string(table.columns[k].left() ? "---" : "---:"); }) + "|\n";
  for (const auto& row : table.rows)
    text += line([&](std::size_t k) { return safe(shown(shown_in(row[k], table.columns[k]))); });
  return text;
}

}  // namespace sharpmax::report
