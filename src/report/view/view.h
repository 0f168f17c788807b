// A view: everything that is shown of a result, as plain values. Each kind of result makes its view in one file
// (report/kind/), and every value is drawn once per medium: SVG (report/svg/), terminal, CSV and Markdown
// (report/view/text.h), JSON for the page and for Python (report/view/json.h).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/view/format.h"

namespace sharpmax::report {

// Okabe and Ito's hues, which colour-blind readers can tell apart, and what is around them.
enum class Paint { vermillion, green, purple, sky, amber, blue, brown, grey, ink, quiet, line, tint, card };

struct Look {
  Paint paint = Paint::grey;
  std::string_view dash;  // of SVG; empty: a whole line
};
inline constexpr std::string_view kDashed = "7 5", kDotted = "2 4";

// A sentence. Parts that are code are names of normalizers, files and tokens; they may hold anything.
struct Words {
  struct Part {
    std::string text;
    bool code = false;
  };
  std::vector<Part> parts;

  Words() = default;
  Words(std::string text) { *this << std::move(text); }  // NOLINT: a text is a sentence
  Words(const char* text) : Words(std::string(text)) {}  // NOLINT
  Words(Part part) { *this << std::move(part); }         // NOLINT
  Words& operator<<(std::string text) {
    if (!text.empty()) parts.push_back({std::move(text)});
    return *this;
  }
  Words& operator<<(Part part) {
    parts.push_back(std::move(part));
    return *this;
  }
  bool empty() const { return parts.empty(); }
  std::string text() const;
};
inline Words::Part code(std::string text) { return {std::move(text), true}; }

struct Tick {
  double at;
  std::string text;
};

struct Axis {
  enum class Kind { linear, logarithmic };
  Kind kind = Kind::linear;
  double low = 0.0, high = 1.0;
  std::string label;
  std::vector<Tick> ticks;  // those whose text has no room are drawn without it
  Format format = kPlain;
  std::string symbol = {};  // what a value is called where it is read: n; empty: the label

  // Whether it has a place for the value; a logarithmic axis has none for 0 and less.
  bool has(double value) const;
  // 0 at low, 1 at high; values beyond them are put at the ends. An axis of one value has it in the middle.
  double share(double value) const;
};

struct Point {
  double at = 0.0, value = 0.0;
  std::optional<double> low, high;
};

enum class Marker { dot, ring, large_dot, none };

struct Curve {
  std::string name;
  Look look;
  std::vector<Point> points;  // in order of `at`
  Marker marker = Marker::dot;
  std::string end = {};    // its last value in words; empty: by the format
  bool unlisted = false;   // has no place among the names
  Format format = fixed_to(3);
  bool code = false;       // its name is that of a normalizer
  bool first = true;       // drawn until the reader chooses
  std::string of = {};     // a published curve: of this one
  std::string layer = {};  // of one head: where its points come from
};

// A thin dotted curve to judge by; its name stands above it, left of one that rises.
struct Reference {
  std::string name;
  std::vector<Point> points;
  bool rising = false;
};

// A vertical line.
struct Mark {
  double at;
  std::string name;
};

// A part of the plot that is shaded, between two sizes and two values.
struct Zone {
  std::string name;
  double from = 0.0, to = 0.0, low = 0.0, high = 0.0;
};

// Every picture has an id of its own within the view, and the name of its SVG file; without one it is on the page only.
struct Chart {
  std::string title;
  std::string subtitle;
  Axis across, up;
  std::vector<Curve> curves;  // the last lies on top
  std::optional<Reference> reference = {};
  std::vector<Mark> marks = {};
  std::vector<Zone> zones = {};
  std::string id = {}, figure = {};
  std::optional<Axis> up_log = {};  // the reader may change to it
  std::string share = {};           // charts with the same one show the same curves
  bool every_curve = false;         // on paper also those that are not drawn at first
};

struct RampWords {
  std::string low, high;
};

struct GridCell {
  double layer = 0.0, head = 0.0;
  std::optional<double> value;  // as measured
  double share = 0.0;           // of the ramp
};

// Layers and heads, one cell per head.
struct Grid {
  enum class Ramp { cividis, mark };

  std::string title, subtitle, described;
  RampWords ramp;
  std::string unknown;  // what a cell without a value means; empty: there is none
  std::vector<GridCell> cells;
  std::string id = {}, figure = {};
  Ramp kind = Ramp::cividis;
  Format format = fixed_to(3);
  std::vector<std::string> texts = {};  // if there: one per cell instead
};

// A statistic of every head: at every length, or one number for all. The explorer is coloured by those that have a meaning.
struct HeadLayer {
  enum class Scale { root, linear, logarithmic, diverging };
  using Values = std::vector<std::vector<std::optional<double>>>;  // [head][length], or [head][0]

  std::string id, name;
  Format format = fixed_to(3);
  Values values = {}, low = {}, high = {};
  std::vector<std::string> texts = {};  // if there: one per head instead of its number
  std::string meaning = {};
  Scale scale = Scale::linear;
  double least = 0.0, most = 1.0;
  RampWords ramp = {};
  std::string figure = {}, title = {}, subtitle = {}, described = {}, unknown = {};  // as those of a grid
  int spare = 0, spare_ends = 0;                                                     // see Item; those of its intervals
};

// A chart of the head that is chosen. Words may name layers in braces.
struct HeadFigure {
  std::string caption = {}, words = {};  // with them it stands below, as wide as the page
  Chart chart;
};

// The explorer of heads: a grid of all, and everything of the one that is chosen.
struct Heads {
  struct Name {
    double layer = 0.0, head = 0.0;
    std::string kind;
  };
  // What was drawn of every head, at one of several sizes. A later part of the same key takes the place of one before it.
  struct Part {
    std::string key, named;
    nlohmann::ordered_json data;
    int spare = 0;
  };

  std::string id, title;
  std::vector<double> lengths;
  std::vector<std::string> length_names = {};
  std::vector<Name> heads;
  std::size_t first = 0;                                             // open until the reader chooses
  std::vector<std::size_t> offered = {};                             // heads whose rows of scores the playground has
  std::vector<HeadLayer> layers;
  std::string words = {};                                            // of a head, with layers in braces
  std::vector<std::pair<std::string, std::string>> links = {};       // words, place with {head} in it
  std::vector<HeadFigure> figures = {};
  std::vector<std::pair<std::string, std::string>> columns = {};     // name, layer: one row per length
  std::string note = {};
  nlohmann::ordered_json drawn = {};
  std::vector<Part> parts = {};
};

struct Piece {
  double length = 0.0;
  Paint paint = Paint::grey;
};

struct Bar {
  std::string name;
  std::vector<Piece> pieces;
  std::vector<std::string> beside;       // numbers, right of the plot
  std::optional<double> low = {}, high = {};  // an interval, as a thin line over the end
  bool bold = false;
  bool code = false;
};

struct Entry {
  std::string name;
  enum class Sample { line, box } sample = Sample::line;
  Look look;
};

// Horizontal bars, each of one piece or of several end to end, with words beside them.
struct Bars {
  std::string title, subtitle, described;
  std::vector<Entry> legend;
  Axis across;
  std::vector<std::string> beside;  // what the numbers are, a column each
  std::vector<Bar> bars;
  std::optional<double> mark;  // a vertical line to judge by
  std::string id = {}, figure = {};
};

// One panel is one size: [set][item], weights; none where nothing was measured. Drawn by their square roots.
struct Panel {
  std::string name;
  std::optional<double> below;  // a number of it
  std::vector<std::vector<std::optional<double>>> weights;
};

struct PanelLine {
  std::string name;
  std::vector<Panel> panels;
  int spare = 0;  // see Item; those above 0 are on the page only
};

struct HeatMaps {
  std::string title, subtitle;
  RampWords ramp;
  std::vector<PanelLine> lines;
  std::string id = {}, figure = {};
};

// A number, a text or nothing; and what is shown instead of it.
struct Cell {
  enum class Kind { none, number, words };
  Kind kind = Kind::none;
  double value = 0.0;
  std::string words = {};
  std::string text = {};  // empty: by the column's format
  double from = 0.0;      // of a bar: it goes from here to the value
  std::optional<Paint> paint = {};

  Cell() = default;
  Cell(double number) : kind(Kind::number), value(number) {}                         // NOLINT: a number is a cell
  Cell(std::string given) : kind(Kind::words), words(std::move(given)) {}            // NOLINT
  Cell(const char* given) : Cell(std::string(given)) {}                              // NOLINT
  Cell(std::optional<double> number) : Cell() {                                      // NOLINT
    if (number) kind = Kind::number, value = *number;
  }
  Cell(std::optional<double> number, std::string shown) : Cell(number) { text = std::move(shown); }

  bool is_number() const { return kind == Kind::number; }
  bool is_words() const { return kind == Kind::words; }
};

struct Column {
  std::string name;
  Format format = kText;
  std::string meaning = {};
  bool hidden = false;  // in CSV only
  bool csv = true;
  bool brief = true;    // on a terminal too
  bool bar = false;     // from `from` to the value, shares of a whole
  std::optional<double> mark = {};  // where a line crosses the bars
  int spare = 0;                    // see Item

  bool code() const { return format.kind == Format::code; }
  bool left() const { return format.kind == Format::text || code(); }
};
// Columns that are in CSV alone, and those that are not in it.
inline Column in_csv(std::string name, Format format = kText) { return {.name = std::move(name), .format = format, .hidden = true}; }
inline Column on_screen(std::string name) { return {.name = std::move(name), .csv = false}; }
// A column of bars, and a bar in it.
inline Column bar_column(std::string name, std::optional<double> mark = {}) {
  return {.name = std::move(name), .csv = false, .bar = true, .mark = mark};
}
inline Cell bar_to(std::optional<double> to, Paint paint, double from = 0.0) {
  Cell bar(to);
  bar.from = from, bar.paint = paint;
  return bar;
}

struct Table {
  std::string id, title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  bool sortable = true, tall = false;
  std::optional<std::size_t> chosen = {};  // a row that stands out
  std::vector<std::string> links = {};     // if there: a place on the page per row
  std::vector<std::string> filters = {};   // columns by whose values the reader may choose rows
  std::string row_name = "line";           // what a row is called there
  bool brief = true;                       // on a terminal too
  std::optional<std::size_t> brief_rows = {};  // the first so many there, unless every row is wanted
};

struct Note {
  Words text;
};

// A command to be copied.
struct CommandLine {
  std::string words, text;
};

struct Facts {
  std::vector<std::pair<std::string, std::string>> pairs;
};

// A row of n scores that the playground offers, by their quantiles from the least to the largest.
struct ScoreRow {
  std::string name;
  double n = 0.0;
  std::vector<double> quantiles;
};

struct Item;
struct Option {
  std::string name;
  std::vector<Item> items;
};

// One option at a time. Choices of one group change together.
struct Choice {
  enum class Style { radio, select };
  std::string label;
  Style style = Style::select;
  std::size_t shown = 0;
  std::string group;
  std::vector<Option> options;
};

struct Item {
  std::variant<Chart, Grid, Heads, Bars, HeatMaps, Table, Note, CommandLine, Facts, Choice, ScoreRow> value;
  int spare = 0;           // above 0: may be left out of a page that is full, the greatest first (view/room.h)
  std::string named = {};  // what is left out is called
};

struct Section {
  std::string id, heading, words;
  std::vector<Item> items;
  bool brief = false;  // on a terminal too
  bool page = true;    // not only there
};

// A number to see from afar.
struct Tile {
  std::string number;
  Words what;
  std::string where;
  Paint paint = Paint::grey;
};

struct View {
  std::string schema, kind, title;
  std::string label;  // among several
  bool complete = true;
  std::vector<Words> verdict;
  std::vector<Tile> tiles;
  std::vector<Section> sections;
  std::vector<std::string> left_out;
  std::string command;
  std::vector<std::pair<std::string, std::string>> facts;  // how it was made
};

// Whether there is a point, a cell, a bar to draw.
bool is_drawable(const Chart& chart);

}  // namespace sharpmax::report
