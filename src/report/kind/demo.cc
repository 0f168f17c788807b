// The view of `sharpmax attend --demo`: one needle among more and more keys, under every normalizer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "report/kind/kinds.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr double kHalf = 0.5 - 0x1p-24;  // a half that one rounding to float took down is a half

struct NeedleRow {
  double n = 0.0;
  std::optional<double> share, entropy;
  const Json* json = nullptr;
};

// One normalizer at every size.
struct NeedleLine {
  std::string name;
  std::vector<NeedleRow> rows;
  const NeedleRow* fall = nullptr;  // the first in which the needle has less than half
  Look look;

  double falls_at() const { return fall ? fall->n : std::numeric_limits<double>::infinity(); }
};

struct Needle {
  std::vector<NeedleLine> lines;  // those that hold first, then by how long they do
  std::vector<double> sizes;

  const NeedleLine* member(std::string_view family) const {
    for (const NeedleLine& line : lines)
      if (family_of(line.name) == family) return &line;
    return nullptr;
  }
};

Needle needle_of(const Json& results) {
  Needle found;
  std::vector<std::string> names;
  for (const Json& row : results.at("rows")) add_once(names, text_at(row, "normalizer"));
  const std::vector<Look> looks = looks_of(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    NeedleLine line{names[i], {}, nullptr, looks[i]};
    for (const Json& row : results.at("rows"))
      if (row.at("normalizer") == names[i])
        line.rows.push_back({size_at(row, "n"), number_at(row, "needle_share"), number_at(row, "entropy"), &row});
    std::stable_sort(line.rows.begin(), line.rows.end(), [](const auto& a, const auto& b) { return a.n < b.n; });
    for (const NeedleRow& row : line.rows) add_once(found.sizes, row.n);
    found.lines.push_back(std::move(line));
  }
  for (NeedleLine& line : found.lines)  // rows stay where they are from here on
    for (const NeedleRow& row : line.rows)
      if (!line.fall && !(row.share >= kHalf)) line.fall = &row;
  std::sort(found.sizes.begin(), found.sizes.end());
  std::stable_sort(found.lines.begin(), found.lines.end(), [](const NeedleLine& a, const NeedleLine& b) {
    return a.falls_at() != b.falls_at() ? a.falls_at() > b.falls_at() : a.rows.back().share > b.rows.back().share;
  });
  return found;
}

void add_needle_verdict(View& view, const Json& results, const Needle& needle) {
  const std::string among = fmt::format("among {} keys", count(needle.sizes.back()));
  if (const NeedleLine* plain = needle.member("softmax")) {
    Words words = fmt::format("A key scores {} above the mean of the others. Under ", plain_number(results.at("gap").get<double>()));
    words << code(plain->name)
          << fmt::format(" it has {} of the weight among {} keys and {} {}", formatted(kShare, plain->rows[0].share),
                         count(needle.sizes[0]), formatted(kShare, plain->rows.back().share), among)
          << (plain->fall ? fmt::format("; at {} it has less than half.", count(plain->fall->n)) : ".");
    view.verdict.push_back(std::move(words));
  }
  const NeedleLine* adaptive = needle.member("adaptive");
  if (adaptive && adaptive->name == "adaptive" && number_at(*adaptive->rows.back().json, "temperature") == 1.0 && adaptive->rows.back().entropy > 1.0)
    view.verdict.push_back(Words(code(adaptive->name))
                           << fmt::format(" is plain softmax {}: its published polynomial ends at an entropy of 5.9 nats.", among));
  std::vector<Words> holding;
  for (const NeedleLine& line : needle.lines)
    if (!line.fall) holding.push_back(code(line.name));
  const std::string all = plural(static_cast<double>(needle.lines.size()), "normalizer");
  if (holding.empty()) return view.verdict.push_back(fmt::format("None of the {} gives it half {}.", all, among));
  Words words = fmt::format("{} of {} still give it half or more {}: ", count(static_cast<double>(holding.size())), all, among);
  list_names(words, holding, 4);
  view.verdict.push_back(std::move(words));
}

void add_needle_tiles(View& view, const Needle& needle) {
  const auto add_share = [&](const NeedleLine* line) {
    if (!line) return;
    view.tiles.push_back({formatted(kShare, line->rows.back().share), code(line->name),
                          fmt::format("the needle’s share among {} keys", count(line->rows.back().n)), line->look.paint});
  };
  const NeedleLine* plain = needle.member("softmax");
  add_share(plain);
  if (plain && plain->fall)
    view.tiles.push_back({count(plain->fall->n), "keys", "where softmax leaves it less than half", plain->look.paint});
  add_share(needle.member("adaptive"));
  add_share(needle.member("entropy_target"));
  if (plain)
    view.tiles.push_back({formatted(fixed_to(2), plain->rows.back().entropy), "nats",
                          fmt::format("entropy of softmax among {} keys", count(plain->rows.back().n)), Paint::grey});
}

Chart needle_chart(const Needle& needle, std::optional<double> NeedleRow::*field, Format format) {
  Chart chart{.across = counts_axis("keys n", "n", needle.sizes), .share = "normalizers", .every_curve = true};
  std::vector<std::string> names;
  for (const NeedleLine& line : needle.lines) names.push_back(line.name);
  const auto first = shown_first(names, {"softmax", "adaptive", "entropy_target", "entmax15", "hard"});
  for (const NeedleLine& line : needle.lines) {
    Curve curve{.name = line.name, .look = line.look, .format = format, .code = true, .first = holds(first, line.name)};
    for (const NeedleRow& row : line.rows) add_point(curve, row.n, row.*field);
    if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
  }
  return chart;
}

Section share_section(const Json& results, const Needle& needle) {
  Chart chart = needle_chart(needle, &NeedleRow::share, kShare);
  chart.id = chart.figure = "share";
  chart.title = "Weight on one needle of fixed score, as keys are added";
  chart.subtitle = fmt::format("Its score is {}; the scores of all others are drawn with mean 0 and deviation 1.",
                               plain_number(results.at("gap").get<double>()));
  chart.up = share_axis("share of the weight");
  chart.reference = level_line("one half", needle.sizes, 0.5);
  return {"share", "The needle’s share",
          "How much of the row’s weight the one needle gets: its score stays, only the number of keys grows.", {{std::move(chart)}}};
}

Section entropy_section(const Needle& needle) {
  Chart chart = needle_chart(needle, &NeedleRow::entropy, fixed_to(2));
  chart.id = chart.figure = "entropy";
  chart.title = "Entropy of the weights, as keys are added";
  chart.subtitle = "0 is all weight on one key, ln n an equal share for each.";
  double most = std::log(std::max(2.0, chart.across.high));
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) most = std::max(most, point.value);
  chart.up = value_axis("entropy, nats", 0.0, 1.05 * most);
  chart.reference = equal_weights_line(needle.sizes);
  return {"entropy", "Entropy",
          "Of the whole row, in nats: 0 is all weight on one key, ln n an equal share for each. Normalizers as chosen above.",
          {{std::move(chart)}}};
}

Section falls_section(const Needle& needle) {
  Table table{.id = "all-falls", .title = "Which keep the needle, which lose it",
              .columns = {{"normalizer", kCode}, {"below half at", kCount},
                          {"share among " + short_count(needle.sizes.back()), kShare},
                          bar_column("from none to all", 0.5)},
              .sortable = false};
  for (const NeedleLine& line : needle.lines) {
    const auto share = line.rows.back().share;
    table.rows.push_back({line.name, line.fall ? Cell(line.fall->n) : Cell(std::nullopt, "not here"), share, bar_to(share, line.look.paint)});
  }
  return {"falls", "Which keep the needle, which lose it",
          fmt::format("Where the needle first has less than half of the weight, and what it has among {} keys.",
                      count(needle.sizes.back())),
          {{std::move(table)}}};
}

// For a terminal: a line per normalizer, a column per size; a bar marks where the needle falls below half.
Section needle_by_size(const Needle& needle, const char* corner, std::optional<double> NeedleRow::*field, Format format, bool falls) {
  Table table{.id = corner, .title = corner, .columns = {{corner}}};
  for (const double n : needle.sizes) table.columns.push_back({short_count(n), format});
  for (const NeedleLine& line : needle.lines) {
    std::vector<Cell> cells{line.name};
    for (const NeedleRow& row : line.rows)
      cells.push_back(Cell(row.*field, falls && &row == line.fall ? "|" + formatted(format, row.*field) : ""));
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
  }
  return {corner, "", "", {{std::move(table)}}, /*brief=*/true, /*page=*/false};
}

// As the demonstration draws it: all but one score are those of a normal distribution, evenly. Quantiles by adding up the
// density: good to some 1e-4, which no eye can see.
std::vector<double> needle_row(double gap) {
  constexpr int kOthers = 255;
  constexpr double kStep = 1.0 / 512.0;
  std::vector<double> row;
  double at = -6.0, sum = 0.0;
  for (int i = 0; i < kOthers; ++i) {
    for (; at < 6.0 && sum < (i + 0.5) / kOthers; at += kStep)
      sum += kStep * std::exp(-0.5 * (at + 0.5 * kStep) * (at + 0.5 * kStep)) / std::sqrt(2.0 * std::numbers::pi);
    row.push_back(at);
  }
  row.push_back(gap);
  std::sort(row.begin(), row.end());
  return row;
}

Section needle_numbers(const Json& results) {
  Table table = fields_table({.id = "all-rows", .title = "All numbers", .tall = true}, results.at("rows"),
                             {{"normalizer", kCode}, {"n", kCount}, {"needle’s share", kShare, "needle_share"}, {"entropy", fixed_to(3)},
                              {"effective support", fixed_to(1), "", 3}, {"support", kCount, "", 2},
                              {"largest weight", fixed_to(3), "peak_weight", 5}, {"needle’s weight", fixed_to(3), "needle_weight", 6},
                              {"sum of weights", fixed_to(3), "mass", 7}, {"temperature β", fixed_to(3), "temperature", 4},
                              {"threshold τ", fixed_to(3), "threshold", 8}, {"heaviest key", kCount, "peak_key", 1},
                              {"the needle", kCount, "needle_key", 1}});
  const double gap = results.at("gap").get<double>();
  return {"numbers", "All numbers", "", {{std::move(table)},
          {ScoreRow{"needle of score " + plain_number(gap), 256.0, needle_row(gap)}}}};
}

}  // namespace

View demo_view(const Json& results) {
  View view = begun_view(results);
  require_numbers(results, {"seed", "features"});
  const Needle needle = needle_of(results);
  view.kind = "one needle among more and more keys";
  view.title = fmt::format("One needle among up to {} keys", count(needle.sizes.empty() ? 0.0 : needle.sizes.back()));
  view.label = "a needle of score " + plain_number(results.at("gap").get<double>());
  if (needle.lines.empty()) {
    view.verdict.push_back("These results hold no row.");
    return view;
  }
  add_needle_verdict(view, results, needle);
  add_needle_tiles(view, needle);
  if (needle.sizes.size() > 1) {
    view.sections.push_back(share_section(results, needle));
    view.sections.push_back(entropy_section(needle));
  }
  view.sections.push_back(falls_section(needle));
  view.sections.push_back(needle_by_size(needle, "needle’s weight", &NeedleRow::share, fixed_to(3), true));
  view.sections.back().items.push_back({Note{"Weights are shares of the sum of their row. |: where the needle falls below half."}});
  view.sections.push_back(needle_by_size(needle, "entropy, nats", &NeedleRow::entropy, fixed_to(3), false));
  view.sections.push_back(needle_numbers(results));
  return view;
}

}  // namespace sharpmax::report
