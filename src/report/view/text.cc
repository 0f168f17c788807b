#include "report/view/written.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <sstream>
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
  std::vector<std::vector<std::string>> lines;  // [line][column], those of the heading first
  std::size_t heading = 1;                      // lines of it
  std::vector<bool> left;
  std::vector<std::size_t> widths;
};

constexpr std::size_t kGap = 2;  // at least, where words stand beside each other

std::size_t width_of(const Laid& table, std::size_t gap) {
  return std::accumulate(table.widths.begin() + 1, table.widths.end(), table.widths[0], [&](std::size_t sum, std::size_t one) { return sum + gap + one; });
}

// Headings over as many lines as they have words, where no cell below is wider.
void break_headings(Laid& table) {
  std::vector<std::vector<std::string>> broken;  // [column][line]
  for (std::size_t k = 0; k < table.widths.size(); ++k) {
    std::size_t room = 1;
    for (std::size_t i = 1; i < table.lines.size(); ++i) room = std::max(room, length_of(table.lines[i][k]));
    std::vector<std::string>& lines = broken.emplace_back();
    std::istringstream words(table.lines[0][k]);
    for (std::string word; words >> word;) {
      if (!lines.empty() && length_of(lines.back()) + 1 + length_of(word) <= room) lines.back() += " " + word;
      else lines.push_back(word);
    }
    table.widths[k] = room;
    for (const std::string& line : lines) table.widths[k] = std::max(table.widths[k], length_of(line));
    table.heading = std::max(table.heading, lines.size());
  }
  table.lines.insert(table.lines.begin(), table.heading - 1, {});
  for (std::size_t k = 0; k < broken.size(); ++k) {
    broken[k].insert(broken[k].begin(), table.heading - broken[k].size(), "");
    for (std::size_t i = 0; i < table.heading; ++i) {
      table.lines[i].resize(broken.size());
      table.lines[i][k] = broken[k][i];
    }
  }
}

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
    made.widths.push_back(0);
    for (const auto& line : made.lines) made.widths.back() = std::max(made.widths.back(), length_of(line.back()));
  }
  if (made.widths.empty()) return made;
  if (width_of(made, kGap) > style.width) break_headings(made);
  // A long text is cut, so that no line is wider than the screen; the first column has at least half of it.
  std::size_t others = 0;
  for (std::size_t k = 1; k < made.widths.size(); ++k) others += kGap + made.widths[k];
  for (std::size_t k = 0; k < made.widths.size(); ++k) {
    const std::size_t beside = k == 0 ? std::min(others, style.width / 2) : kGap + made.widths[0];
    made.widths[k] = std::min(made.widths[k], style.width - beside);
    for (auto& line : made.lines) line[k] = cut(line[k], made.widths[k]);
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

// As wide as lets all columns stand beside each other. One space tells numbers apart, if they have none within.
std::size_t gap_of(const Laid& table, std::size_t width) {
  const auto fits = [&](std::size_t gap) { return width_of(table, gap) <= width; };
  if (fits(3) || fits(kGap)) return fits(3) ? 3 : kGap;
  const bool numbers = std::none_of(table.left.begin() + 1, table.left.end(), [](bool left) { return left; });
  const bool spaces = std::any_of(table.lines.begin() + static_cast<std::ptrdiff_t>(table.heading), table.lines.end(), [](const auto& line) {
    return std::any_of(line.begin() + 1, line.end(), [](const std::string& text) { return text.find(' ') != text.npos; });
  });
  return numbers && !spaces && fits(1) ? 1 : kGap;
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
  const std::size_t gap = gap_of(made, style.width);
  std::string text;
  for (std::size_t first = 1, end = 1; first < columns || first == 1; first = end) {
    end = columns == 1 ? 2 : block_end(made, first, gap, style.width);
    if (first > 1) text += "\n";
    for (std::size_t i = 0; i < made.lines.size(); ++i) {
      const bool bold = i < made.heading || table.chosen == i - made.heading;
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
// Words that no line has room for are cut into pieces: names in files may be of any length.
std::string broken(const std::string& text, std::size_t room) {
  std::string out;
  std::size_t run = 0;
  for (const char32_t c : code_points(text)) {
    run = c == U' ' ? 0 : run + 1;
    if (run > room) out += ' ', run = 1;
    append(out, c);
  }
  return out;
}

std::string text_of(const Facts& facts, const TextStyle& style) {
  std::size_t most = 0;
  for (const auto& [name, value] : facts.pairs) most = std::max(most, length_of(typed(name)));
  std::string text;
  for (const auto& [name, value] : facts.pairs) {
    const std::string key = typed(name);
    text += refilled(in_bold(key, style) + std::string(most - length_of(key) + 2, '\1') + broken(typed(value), style.width - most - 2), style.width,
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
    if (printed > 1 && !section.heading.empty()) text += paragraph(section.heading + (section.heading.ends_with('?') ? "" : ":"), style);
    text += body;
  }
  return text;
}

namespace {

std::string text_at(const HeadLayer& layer, std::size_t head, std::size_t length) {
  if (!layer.texts.empty()) return layer.texts.at(head);
  const auto& line = layer.values.at(head);  // of one number for all lengths it is the only one
  return line.empty() ? std::string(kNone) : formatted(layer.format, line[std::min(length, line.size() - 1)]);
}

const HeadLayer* layer_of(const Heads& heads, std::string_view id) {
  for (const HeadLayer& layer : heads.layers)
    if (layer.id == id) return &layer;
  return nullptr;
}

// A sentence with what stands in braces filled in, at the last length.
std::string filled(std::string_view words, const Heads& heads, std::size_t head) {
  std::string text;
  while (!words.empty()) {
    const std::size_t open = std::min(words.find('{'), words.size()), close = std::min(words.find('}', open), words.size());
    text += words.substr(0, open);
    const std::string_view id = open < close ? words.substr(open + 1, close - open - 1) : "";
    const HeadLayer* layer = layer_of(heads, id);
    text += id == "layer"  ? count(heads.heads.at(head).layer)
            : id == "head" ? count(heads.heads.at(head).head)
            : id == "kind" ? heads.heads.at(head).kind
            : layer        ? text_at(*layer, head, heads.lengths.size() - 1)
                           : "";
    words.remove_prefix(std::min(close + 1, words.size()));
  }
  return text;
}

// One line per length. columns: name and layer.
Table over_lengths(const Heads& heads, std::size_t head, const std::vector<std::pair<std::string, std::string>>& columns) {
  Table table{.id = "lengths", .title = "", .columns = {{.name = "tokens", .format = {Format::count}}}};
  for (std::size_t i = 0; i < heads.lengths.size(); ++i)
    table.rows.push_back({Cell(heads.lengths[i], i < heads.length_names.size() ? heads.length_names[i] : "")});
  for (const auto& [name, id] : columns) {
    const HeadLayer* layer = layer_of(heads, id);
    if (!layer) continue;
    table.columns.push_back({.name = name, .format = layer->format});
    for (std::size_t i = 0; i < heads.lengths.size(); ++i) table.rows[i].push_back(Cell(std::nullopt, text_at(*layer, head, i)));
  }
  return table;
}

}  // namespace

std::string as_text(const Heads& heads, std::size_t head, const TextStyle& style) {
  std::string text = paragraph(filled(heads.words, heads, head), style) + "\n" + as_text(over_lengths(heads, head, heads.columns), style);
  for (const HeadFigure& figure : heads.figures) {
    if (figure.caption.empty()) continue;
    std::vector<std::pair<std::string, std::string>> columns;
    for (const Curve& curve : figure.chart.curves) columns.emplace_back(curve.name, curve.layer);
    text += "\n" + paragraph(figure.caption + ": " + figure.chart.up.label + ".", style) + as_text(over_lengths(heads, head, columns), style);
  }
  return text + "\n" + paragraph(heads.note, style);
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

std::string in_markdown(std::string_view text) {
  std::string safe;
  for (const char c : shown(text)) {
    if (std::string_view("|\\`<*[").find(c) != std::string_view::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string as_markdown(const Table& table) {
  const auto wanted = [](const Column& column) { return !column.hidden && !column.bar; };
  const auto line = [&](const auto& each) { return "| " + joined(table, " | ", wanted, each) + " |\n"; };
  std::string text = line([&](std::size_t k) { return in_markdown(table.columns[k].name); });
  text += "|" + joined(table, "|", wanted, [&](std::size_t k) { return std::string(table.columns[k].left() ? "---" : "---:"); }) + "|\n";
  for (const auto& row : table.rows)
    text += line([&](std::size_t k) { return in_markdown(shown_in(row[k], table.columns[k])); });
  return text;
}

}  // namespace sharpmax::report
