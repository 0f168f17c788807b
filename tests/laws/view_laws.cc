// The law of all views: numbers in every drawing (SVG geometry, JSON, CSV, Markdown, terminal) are those of the value.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "report/svg/figures.h"
#include "report/svg/svg.h"
#include "report/view/written.h"
#include "report/view/looks.h"
#include "support/files.h"
#include "support/random.h"

namespace sharpmax::report {
namespace {

using test::for_each_seed;
using test::Random;
using Json = nlohmann::ordered_json;

TEST(ViewLaws, FormatsAreThoseThatThePageHasToo) {
  std::ifstream file(test::source_folder() / "tests/support/formats.json");
  const Json cases = Json::parse(file);
  EXPECT_GT(cases.size(), 60u);
  for (const Json& one : cases) {
    const auto format = format_named(one[0].get<std::string>());
    ASSERT_TRUE(format.has_value()) << one;
    EXPECT_EQ(name_of(*format), one[0].get<std::string>());
    const auto value = one[1].is_null() ? std::nullopt : std::optional(one[1].get<double>());
    EXPECT_EQ(formatted(*format, value), one[2].get<std::string>()) << one;
  }
}

const std::vector<std::string>& awkward_texts() {
  static const std::vector<std::string> texts = {"plain", "a,b", "\"quoted\"", "=1+1", "line\nfeed", "", " spaced ", "ünïcode", "<b>"};
  return texts;
}

double any_number(Random& random) {
  const double size = random.log_uniform(1e-9, 1e9);
  return random.uniform() < 0.5 ? -size : size;
}

Table any_table(Random& random) {
  Table table{.id = "t", .title = "t", .columns = {}, .rows = {}};
  const std::size_t columns = random.size(1, 8), rows = random.size(0, 20);
  for (std::size_t k = 0; k < columns; ++k)
    table.columns.push_back({.name = "column " + std::to_string(k), .format = k % 3 == 0 ? Format{Format::text} : fixed_to(3)});
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<Cell> row;
    for (const Column& column : table.columns) {
      if (random.uniform() < 0.1)
        row.emplace_back();
      else if (column.left())
        row.emplace_back(awkward_texts()[random.size(0, awkward_texts().size() - 1)]);
      else
        row.emplace_back(any_number(random));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::vector<std::string>> csv_lines(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& cell = lines.back().back();
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"')
      cell += text[++i];
    else if (text[i] == '"')
      quoted = !quoted;
    else if (!quoted && text[i] == ',')
      lines.back().emplace_back();
    else if (!quoted && text[i] == '\n')
      lines.push_back({""});
    else
      cell += text[i];
  }
  lines.pop_back();  // after the last line feed
  return lines;
}

TEST(ViewLaws, CsvAndJsonHoldEveryDigitOfATable) {
  for_each_seed(200, [](Random& random) {
    const Table table = any_table(random);
    const auto lines = csv_lines(as_csv(table));
    const Json json = to_json(table);
    ASSERT_EQ(lines.size(), table.rows.size() + 1);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      ASSERT_EQ(lines[i + 1].size(), table.columns.size());
      for (std::size_t k = 0; k < table.columns.size(); ++k) {
        const Cell& cell = table.rows[i][k];
        const std::string& written = lines[i + 1][k];
        if (cell.is_number()) {
          EXPECT_EQ(std::strtod(written.c_str(), nullptr), cell.value);
          EXPECT_EQ(json.at("rows")[i][k].get<double>(), cell.value);
        } else if (cell.is_words()) {
          EXPECT_EQ(written, std::string(cell.words.starts_with('=') ? "'" : "").append(shown(cell.words)));
          EXPECT_EQ(json.at("rows")[i][k], cell.words);
        } else {
          EXPECT_EQ(written, "");
          EXPECT_TRUE(json.at("rows")[i][k].is_null());
        }
      }
    }
  });
}

TEST(ViewLaws, TextAndMarkdownShowEveryCellAndStayWithinTheScreen) {
  for_each_seed(200, [](Random& random) {
    Table table = any_table(random);
    for (auto& row : table.rows)
      for (Cell& cell : row)
        if (cell.is_words()) cell.words = "word";
    const std::string text = as_text(table), markdown = as_markdown(table);
    std::vector<std::string> lines;
    for (std::size_t from = 0; from < markdown.size();) {
      const std::size_t end = markdown.find('\n', from);
      lines.push_back(markdown.substr(from, end - from));
      from = end + 1;
    }
    ASSERT_EQ(lines.size(), table.rows.size() + 2);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      std::string expected = "|";
      for (std::size_t k = 0; k < table.columns.size(); ++k) expected.append(" ").append(shown_in(table.rows[i][k], table.columns[k])).append(" |");
      EXPECT_EQ(lines[i + 2], expected);
    }
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t end = text.find('\n', from);
      EXPECT_LE(code_points(text.substr(from, end - from)).size(), kScreenWidth);
      from = end + 1;
    }
    for (const auto& row : table.rows)
      for (std::size_t k = 0; k < row.size(); ++k)
        if (row[k].is_number()) {
          EXPECT_NE(text.find(formatted(table.columns[k].format, row[k].value)), std::string::npos);
        }
  });
}

TEST(ViewLaws, HeadingsAreBrokenBeforeColumnsGoBelowTheOthers) {
  Table table{.id = "t", .title = "t", .columns = {{.name = "items"}}, .rows = {{Cell("16")}, {Cell("32")}}};
  for (const char* name : {"paper, softmax", "paper, entropy_target", "sharp, softmax", "sharp, entropy_target"}) {
    table.columns.push_back({.name = name, .format = fixed_to(1)});
    for (auto& row : table.rows) row.emplace_back(99.5);
  }
  table.chosen = 1;
  EXPECT_EQ(as_text(table),
            "         paper,           paper,    sharp,           sharp,\n"
            "items   softmax   entropy_target   softmax   entropy_target\n"
            "16         99.5             99.5      99.5             99.5\n"
            "32         99.5             99.5      99.5             99.5\n");
  const std::string colored = as_text(table, {.colour = true});
  EXPECT_NE(colored.find("\x1b[1m32"), std::string::npos);  // the chosen row, counted below all lines of the heading
  EXPECT_EQ(colored.find("\x1b[1m16"), std::string::npos);
}

// Where ticks of known values stand tells what every point of a curve is worth.
struct Scale {
  double first_value = 0.0, first_place = 0.0, last_value = 0.0, last_place = 0.0;
};

Scale scale_of(const std::string& svg, const std::string& which, int place) {
  const std::regex tick("<line x1=\"([-0-9.]+)\" y1=\"([-0-9.]+)\"[^>]*data-" + which + "=\"([^\"]+)\"");
  Scale scale;
  bool any = false;
  for (std::sregex_iterator at(svg.begin(), svg.end(), tick), end; at != end; ++at, any = true) {
    const double value = std::strtod((*at)[3].str().c_str(), nullptr), where = std::strtod((*at)[place].str().c_str(), nullptr);
    if (!any) scale.first_value = value, scale.first_place = where;
    scale.last_value = value, scale.last_place = where;
  }
  return scale;
}

double place_of(double value, const Scale& scale, const Axis& axis) {
  const double share = (axis.share(value) - axis.share(scale.first_value)) / (axis.share(scale.last_value) - axis.share(scale.first_value));
  return scale.first_place + share * (scale.last_place - scale.first_place);
}

TEST(ViewLaws, GeometryOfAChartIsItsNumbers) {
  constexpr double kRounding = 0.02;  // pixels: places have two decimals, and so have the ticks they are compared with
  for_each_seed(100, [](Random& random) {
    std::vector<double> sizes, values;
    for (double n = 16.0; n <= 16384.0; n *= 4.0) sizes.push_back(n);
    Chart chart{.title = "t", .subtitle = "", .across = size_axis("n", sizes), .up = {}, .curves = {}};
    const std::size_t curves = random.size(1, 4);
    for (std::size_t i = 0; i < curves; ++i) {
      Curve curve{.name = "c" + std::to_string(i), .look = {}, .points = {}};
      for (const double n : sizes) {
        const double value = random.log_uniform(1e-3, 0.9);
        curve.points.push_back({n, value, 0.9 * value, 1.1 * value});
        values.push_back(value);
      }
      chart.curves.push_back(std::move(curve));
    }
    chart.up = random.uniform() < 0.5 ? share_axis("v") : decade_axis("v", values);
    const std::string svg = drawn(chart);
    const Scale across = scale_of(svg, "across", 1), up = scale_of(svg, "up", 2);
    const Json json = to_json(chart);
    for (std::size_t i = 0; i < curves; ++i) {
      const std::size_t group = svg.find("<g data-curve=\"c" + std::to_string(i) + "\">");
      ASSERT_NE(group, std::string::npos);
      const std::size_t from = svg.find("<polyline points=\"", group) + 18;
      const char* at = svg.c_str() + from;
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        char* next = nullptr;
        const double x = std::strtod(at, &next), y = std::strtod(next + 1, &next);
        at = next;
        const Point& point = chart.curves[i].points[k];
        EXPECT_NEAR(x, place_of(point.at, across, chart.across), kRounding);
        EXPECT_NEAR(y, place_of(point.value, up, chart.up), kRounding);
        EXPECT_EQ(json.at("curves")[i].at("points")[k], Json({point.at, point.value, *point.low, *point.high}));
      }
      // The band goes along the low ends and back along the high ones.
      at = svg.c_str() + svg.find("<polygon points=\"", group) + 17;
      for (std::size_t k = 0; k < 2 * sizes.size(); ++k) {
        char* next = nullptr;
        const double x = std::strtod(at, &next), y = std::strtod(next + 1, &next);
        at = next;
        const Point& point = chart.curves[i].points[k < sizes.size() ? k : 2 * sizes.size() - 1 - k];
        EXPECT_NEAR(x, place_of(point.at, across, chart.across), kRounding);
        EXPECT_NEAR(y, place_of(k < sizes.size() ? *point.low : *point.high, up, chart.up), kRounding);
      }
    }
  });
}

// As the page has it.
template <class Value>
Json item_json(const Value& value) {
  View view;
  view.sections.push_back({"s", "", "", {{value}}});
  return to_json(view).at("sections")[0].at("items")[0];
}

// Of all that the pattern finds its groups, as numbers.
std::vector<std::vector<double>> numbers_in(const std::string& text, const std::regex& pattern) {
  std::vector<std::vector<double>> found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    auto& line = found.emplace_back();
    for (std::size_t k = 1; k < at->size(); ++k) line.push_back(std::strtod((*at)[k].str().c_str(), nullptr));
  }
  return found;
}

TEST(ViewLaws, GeometryOfBarsIsTheirNumbers) {
  constexpr double kRounding = 0.03;  // pixels: left and width have two decimals each, and so have the ticks
  const std::regex rect("<rect x=\"([-0-9.]+)\" y=\"[-0-9.]+\" width=\"([-0-9.]+)\""), line("<line x1=\"([-0-9.]+)\" y1=\"[-0-9.]+\" x2=\"([-0-9.]+)\"");
  for_each_seed(100, [&](Random& random) {
    Bars bars{.title = "t", .subtitle = "", .described = "", .legend = {}, .across = value_axis("v", -0.5, 1.5), .beside = {}, .bars = {}, .mark = {}};
    const std::size_t count = random.size(1, 6);
    for (std::size_t i = 0; i < count; ++i) {
      Bar bar{.name = "b" + std::to_string(i), .pieces = {}, .beside = {}};
      const std::size_t pieces = random.size(1, 4);
      for (std::size_t k = 0; k < pieces; ++k) bar.pieces.push_back({pieces == 1 ? random.uniform() - 0.4 : 0.3 * random.uniform(), Paint::green});
      bar.low = -0.4 * random.uniform(), bar.high = 1.2 * random.uniform();
      bars.bars.push_back(std::move(bar));
    }
    const std::string svg = drawn(bars);
    const Scale across = scale_of(svg, "across", 1);
    const auto place = [&](double value) { return place_of(value, across, bars.across); };
    const Json json = item_json(bars);
    for (std::size_t i = 0; i < count; ++i) {
      const Bar& bar = bars.bars[i];
      const std::size_t begin = svg.find("<g data-bar=\"b" + std::to_string(i) + "\">");
      ASSERT_NE(begin, std::string::npos);
      const std::string group = svg.substr(begin, svg.find("</g>", begin) - begin);
      const auto boxes = numbers_in(group, rect);
      ASSERT_EQ(boxes.size(), bar.pieces.size());
      double from = 0.0;
      for (std::size_t k = 0; k < boxes.size(); ++k) {
        const double to = from + bar.pieces[k].length;
        EXPECT_NEAR(boxes[k][0], place(std::min(from, to)), kRounding);
        EXPECT_NEAR(boxes[k][0] + boxes[k][1], place(std::max(from, to)), kRounding);
        EXPECT_EQ(json.at("bars")[i].at("pieces")[k][0].get<double>(), bar.pieces[k].length);
        from = to;
      }
      const auto ends = numbers_in(group, line);
      ASSERT_EQ(ends.size(), 1u);
      EXPECT_NEAR(ends[0][0], place(*bar.low), kRounding);
      EXPECT_NEAR(ends[0][1], place(*bar.high), kRounding);
    }
  });
}

TEST(ViewLaws, CellsOfAGridHaveTheirNumbersAndTheColoursOfTheirShares) {
  for_each_seed(50, [](Random& random) {
    Grid grid{.title = "t", .subtitle = "", .described = "", .ramp = {"low", "high"}, .unknown = "none", .cells = {}};
    const std::size_t layers = random.size(1, 12), heads = random.size(1, 12);
    for (std::size_t layer = 0; layer < layers; ++layer)
      for (std::size_t head = 0; head < heads; ++head) {
        const auto value = random.uniform() < 0.1 ? std::nullopt : std::optional(any_number(random));
        grid.cells.push_back({double(layer), double(head), value, random.uniform()});
      }
    const std::string svg = drawn(grid);
    const auto after = [&](std::size_t from, const std::string& name) {  // the value of an attribute
      const std::size_t begin = svg.find(name + "=\"", from) + name.size() + 2;
      return svg.substr(begin, svg.find('"', begin) - begin);
    };
    for (const GridCell& cell : grid.cells) {
      const std::string head = "data-head=\"" + std::to_string(int(cell.layer)) + "." + std::to_string(int(cell.head)) + "\"";
      const std::size_t at = svg.find(head);
      ASSERT_NE(at, std::string::npos) << head;
      const std::string value = after(at, "data-value");
      if (cell.value)
        EXPECT_EQ(std::strtod(value.c_str(), nullptr), *cell.value);
      else
        EXPECT_EQ(value, "none");
      EXPECT_EQ(after(svg.rfind("<rect", at), cell.value ? "fill" : "class"), cell.value ? ramp(cell.share) : "line");
    }
  });
}

TEST(ViewLaws, ShadesOfAHeatMapFollowItsWeights) {
  const std::vector<std::optional<double>> weights{0.0, 1.0 / 16.0, 0.25, 1.0};
  const HeatMaps maps{.title = "t", .subtitle = "", .ramp = {"0", "1"}, .lines = {{"a", {{"16", 0.25, {weights, {1.0, 1.0, 0.0, 0.0}}}}}}, .id = "m"};
  const std::string svg = drawn(maps);
  // By the square root: a quarter of the weight is half of the way. Runs of one shade are one rectangle; 0 is the ground.
  constexpr double kShades = 23.0;
  const auto shade = [](double share) { return std::string(ramp(std::round(share * kShades) / kShades)); };
  EXPECT_NE(svg.find("<path d=\"M1 0h1v1h-1z\" fill=\"" + shade(0.25) + "\""), std::string::npos);
  EXPECT_NE(svg.find("<path d=\"M2 0h1v1h-1z\" fill=\"" + shade(0.5) + "\""), std::string::npos);
  EXPECT_NE(svg.find("<path d=\"M3 0h1v1h-1zM0 1h2v1h-2z\" fill=\"" + shade(1.0) + "\""), std::string::npos);
  EXPECT_NE(svg.find(">0.25</text>"), std::string::npos);  // the number below
  const Json panel = item_json(maps).at("lines")[0].at("panels")[0];
  EXPECT_EQ(panel.at("thousandths"), Json({0, 63, 250, 1000, 1000, 1000, 0, 0}));
}

TEST(ViewLaws, TextOfAHeadHasItsNumbersAtEveryLength) {
  Heads heads{.id = "head", .title = "", .lengths = {64, 128}, .length_names = {"64", "128*"}, .heads = {{0, 0, "sink"}, {1, 3, "sharp"}}, .layers = {}};
  heads.layers = {{.id = "peak", .name = "peak", .values = {{0.1, 0.2}, {0.3, 0.4}}},
                  {.id = "slope", .name = "slope", .format = fixed_to(2), .values = {{0.5}, {0.75}}},
                  {.id = "gap_1", .name = "within 1", .format = {Format::count}, .values = {{1.0, 2.0}, {3.0, 4.0}}}};
  heads.words = "Layer {layer}, head {head}: {kind}, slope {slope}, peak {peak}; {unknown}.";
  heads.columns = {{"peak", "peak"}, {"slope", "slope"}, {"left out of a full page", "absent"}};
  heads.figures = {{.caption = "Crowd", .words = "", .chart = {.title = "", .subtitle = "", .across = {}, .up = {.label = "keys", .ticks = {}},
                                                               .curves = {{.name = "within 1", .look = {}, .points = {}, .layer = "gap_1"}}}}};
  heads.note = "A note.";
  EXPECT_EQ(as_text(heads, 1),
            "Layer 1, head 3: sharp, slope 0.75, peak 0.400; .\n\n"
            "tokens    peak   slope\n    64   0.300    0.75\n  128*   0.400    0.75\n\n"
            "Crowd: keys.\ntokens   within 1\n    64          3\n  128*          4\n\nA note.\n");
}

TEST(ViewLaws, WhatAViewSparesIsNamedAndItsLeastStays) {
  View view;
  Table table{.id = "t", .title = "rows", .columns = {{.name = "kept"}, {.name = "spared", .spare = 1}}, .rows = {}};
  std::mt19937 source(1);  // numbers that no compression makes short
  std::string note;
  for (int i = 0; i < 1000; ++i) {
    table.rows.push_back({Cell(double(source())), Cell(double(source()))});
    note += std::to_string(source());
  }
  view.sections.push_back({"s", "", "", {{table}, {Note{note}, 2, "a long note"}}});
  const auto room_of = [](const View& one) { return bytes_in_page(to_json(one)); };
  View fits = view;
  leave_out_beyond(fits, room_of(view));
  EXPECT_TRUE(fits.left_out.empty());
  View without_note = view;
  leave_out_beyond(without_note, room_of(view) - 1000);
  EXPECT_EQ(without_note.left_out, std::vector<std::string>{"a long note"});
  View least = view;
  leave_out_beyond(least, 4000);
  EXPECT_LE(room_of(least), 4200u);  // the sentence that names it comes on top
  ASSERT_EQ(least.left_out.size(), 3u);
  EXPECT_EQ(least.left_out[1], "spared");
  EXPECT_NE(least.left_out[2].find("lines of"), std::string::npos);
  EXPECT_GT(std::get<Table>(least.sections[0].items[0].value).rows.size(), 100u);
}

}  // namespace
}  // namespace sharpmax::report
