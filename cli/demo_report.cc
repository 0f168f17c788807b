#include "cli/demo_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/command.h"
#include "cli/table.h"
#include "sharpmax/machine.h"

namespace sharpmax::cli {
namespace {

constexpr double kHalf = 0.5 - 0x1p-24;  // a half that one rounding to float took down is a half
constexpr const char* kStory[] = {"softmax", "adaptive", "entropy_target"};

// One normalizer at every size.
struct Line {
  std::span<const DemoRow> cells;
  std::size_t falls_at = 0;  // index of the first size where the needle has less than half
  bool holds() const noexcept { return falls_at == cells.size(); }
};

std::vector<Line> lines_of(const std::vector<DemoRow>& rows, std::size_t sizes) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < rows.size(); at += sizes) {
    Line line{.cells = std::span(rows).subspan(at, sizes)};
    const auto fallen = std::find_if(line.cells.begin(), line.cells.end(),
                                     [](const DemoRow& r) { return !(r.needle_share() >= kHalf); });
    line.falls_at = static_cast<std::size_t>(fallen - line.cells.begin());
    lines.push_back(line);
  }
  // Those that hold first; then by how long they do. Otherwise in the order of the family.
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.falls_at > b.falls_at; });
  return lines;
}

Table table_for(const std::vector<std::int64_t>& sizes, const char* corner) {
  std::vector<Align> columns(sizes.size() + 1, Align::right);
  columns[0] = Align::left;
  Table table(columns, 1);
  std::vector<Cell> header{{corner, Ink::bold}};
  for (const std::int64_t n : sizes) header.push_back({short_count(n), Ink::bold});
  table.add(std::move(header));
  return table;
}

bool in_the_story(const std::string& normalizer) {
  const std::string name = normalizer.substr(0, normalizer.find(':'));
  return std::find(std::begin(kStory), std::end(kStory), name) != std::end(kStory);
}

Cell name_of(const Line& line) {
  const std::string& name = line.cells[0].normalizer;
  return {name, in_the_story(name) ? Ink::bold : Ink::plain};
}

std::string share_table(const std::vector<Line>& lines, const std::vector<std::int64_t>& sizes, bool colour) {
  Table table = table_for(sizes, "needle's weight");
  for (const Line& line : lines) {
    std::vector<Cell> cells{name_of(line)};
    for (std::size_t i = 0; i < line.cells.size(); ++i) {
      // The bar marks the fall where there is no colour to show it.
      const std::string bar = i == line.falls_at ? "|" : "";
      const Ink ink = i < line.falls_at ? Ink::green : i == line.falls_at ? Ink::red : Ink::dim;
      cells.push_back({bar + short_number(line.cells[i].needle_share()), ink});
    }
    table.add(std::move(cells));
  }
  return table.text(colour);
}

std::string entropy_table(const std::vector<Line>& lines, const std::vector<std::int64_t>& sizes,
                          bool colour) {
  Table table = table_for(sizes, "entropy, nats  ");
  for (const Line& line : lines) {
    std::vector<Cell> cells{name_of(line)};
    for (const DemoRow& row : line.cells) cells.push_back({short_number(row.entropy)});
    table.add(std::move(cells));
  }
  return table.text(colour);
}

// What the tables say of the three that the story is about, in words; only those that ran.
std::string moral(const std::vector<Line>& lines) {
  std::string text;
  const auto sentence = [&](std::string words) { text += wrapped(words) + "\n"; };
  for (const char* name : kStory) {
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      const std::string& full = line.cells[0].normalizer;
      return full.substr(0, full.find(':')) == name;
    });
    if (found == lines.end()) continue;
    const DemoRow& last = found->cells.back();
    if (found->holds()) {
      sentence(fmt::format("{} still gives the needle {} of its weight among {}.", name,
                           short_number(last.needle_share()), grouped(last.n)));
    } else {
      const DemoRow& fall = found->cells[found->falls_at];
      sentence(fmt::format("{} has lost the needle at {} keys; among {} it has {} of the weight.", name, grouped(fall.n),
                           grouped(last.n), short_number(last.needle_share())));
    }
    const bool off = std::string_view(name) == "adaptive" && last.temperature == 1.0 && last.entropy > 1.0;
    if (off) sentence("  (It is plain softmax there: its published polynomial ends at H = 5.9 nats.)");
  }
  return text;
}

}  // namespace

Json demo_json(const std::vector<DemoRow>& rows, const DemoSetting& setting) {
  Json list = Json::array();
  for (const DemoRow& row : rows) {
    list.push_back({{"normalizer", row.normalizer},
                    {"n", row.n},
                    {"peak_weight", row.peak_weight},
                    {"peak_key", row.peak_key},
                    {"needle_key", row.needle},
                    {"needle_weight", row.needle_weight},
                    {"needle_share", row.needle_share()},
                    {"entropy", row.entropy},
                    {"effective_support", row.effective_support},
                    {"support", row.support},
                    {"mass", row.mass},
                    {"temperature", row.temperature},
                    {"threshold", row.threshold}});
  }
  return {{"schema", kDemoSchema},
          {"sharpmax", version()},
          {"command", command_line()},
          {"created", utc_now()},
          {"gap", setting.gap},
          {"seed", setting.seed},
          {"features", setting.features},
          {"rows", std::move(list)}};
}

void print_demo_tables(const std::vector<DemoRow>& rows, const std::vector<std::int64_t>& sizes,
                       const DemoSetting& setting) {
  const bool colour = colour_wanted();
  const std::vector<Line> lines = lines_of(rows, sizes.size());
  std::string text = wrapped(
      fmt::format("One needle of score {:g} in the middle of n - 1 keys whose scores are N(0, 1) (q, k in "
                  "{} dimensions, seed {}): only n changes. Weights are shares of the row's "
                  "sum; | is where the needle falls below half.",
                  setting.gap, setting.features, setting.seed));
  text += "\n\n" + share_table(lines, sizes, colour) + "\n" + entropy_table(lines, sizes, colour);
  const std::string words = moral(lines);
  if (!words.empty()) text += "\n" + words;
  print(text);
}

}  // namespace sharpmax::cli
