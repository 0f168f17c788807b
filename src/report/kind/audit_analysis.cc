// Paper B's five analyses in the view of an audit: what of its findings holds, and a figure and a table for each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/kind/audit_charts.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

constexpr const char* kKeysSelected = "N, keys selected";

// part: of {mean, median, ...}; the band is of quartiles over heads.
struct Over {
  const char* size;
  const char* spread;
  const char* part = "median";
  bool band = false;
};

Curve over_heads(const Json& points, const Over& what, Curve curve, Format format = fixed_to(3)) {
  curve.format = format;
  for (const Json& point : points) {
    const Json& found = point.at(what.spread);
    const auto quartile = [&](const char* which) { return what.band ? number_at(found, which) : std::nullopt; };
    add_point(curve, point.at(what.size).get<double>(), number_at(found, what.part), quartile("lower_quartile"), quartile("upper_quartile"));
  }
  return curve;
}

Curve line(std::string name, Paint paint) { return {.name = std::move(name), .look = {paint, ""}}; }

Curve bound(std::string name, Paint paint, std::string_view dash = kDashed) {
  return {.name = std::move(name), .look = {paint, dash}, .marker = Marker::none};
}

// A logarithmic axis has no place for 0 and less; a curve without any other point is none.
void finish_with_decades(Chart& chart, std::string label) {
  std::vector<double> values;
  for (Curve& curve : chart.curves) {
    std::erase_if(curve.points, [](const Point& point) { return !(point.value > 0.0); });
    for (const Point& point : curve.points) values.push_back(point.value);
  }
  std::erase_if(chart.curves, [](const Curve& curve) { return curve.points.empty(); });
  chart.up = decade_axis(std::move(label), values);
}

Axis over_sizes(const std::string& label, const Json& points, const char* size) {
  std::vector<double> sizes;
  for (const Json& point : points) sizes.push_back(point.at(size).get<double>());
  return counts_axis(label, label.substr(0, 1), sizes);  // L or N
}

std::string vectors_of(const Json& analysis) {
  return analysis.at("vectors") == "values" ? "the heads’ values" : "hidden states before the layer";
}

std::string heads_text(const Json& analysis) { return plural(analysis.at("heads").get<double>(), "head"); }

// points: by the reading of the distance.
Chart distance_chart(const Json& analysis, const Json& points, const char* size, std::string title, const char* across) {
  Chart chart{.title = "Distance between what is selected and what is left out, " + std::move(title),
              .subtitle = fmt::format("Vectors: {}. Medians over {}; the band holds half of them. Dashed: what cannot be exceeded.",
                                      vectors_of(analysis), heads_text(analysis)),
              .across = over_sizes(across, points, size)};
  chart.curves = {over_heads(points, {size, "chosen_bound"}, bound("most weight, theorem 1.1", Paint::vermillion)),
                  over_heads(points, {size, "drawn_bound"}, bound("drawn, bound", Paint::green)),
                  over_heads(points, {size, "drawn"}, line("drawn at random", Paint::green)),
                  over_heads(points, {size, "chosen", "median", true}, line("most weight", Paint::vermillion))};
  finish_with_decades(chart, "distance");
  return chart;
}

const Json& reading(const Json& analysis, const Json& both) { return both.at(text_at(analysis, "distance")); }

Chart distance_length_chart(const Json& analysis) {
  const Json& section = analysis.at("distance_length");
  return distance_chart(analysis, reading(analysis, section.at("points")), "length", "N = " + count(section.at("top").get<double>()), "L, tokens");
}

Chart distance_top_chart(const Json& analysis) {
  const Json& section = analysis.at("distance_top");
  return distance_chart(analysis, reading(analysis, section.at("points")), "top", "L = " + count(section.at("length").get<double>()), kKeysSelected);
}

Chart critical_chart(const Json& analysis) {
  const Json& section = analysis.at("critical_top");
  const Json& lines = reading(analysis, section).at("against_drawn");
  Chart chart{.title = "When chosen keys cannot be told from drawn ones",
              .subtitle = fmt::format("The Kolmogorov–Smirnov statistic over {}, one curve for each length L. A dot is the critical N: the first "
                                      "at which p reaches {}.",
                                      heads_text(analysis), plain_number(section.at("level").get<double>())),
              .up = value_axis("Kolmogorov–Smirnov statistic", 0.0, 1.0)};
  std::vector<double> shares;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double length = lines.at(i).at("length").get<double>();
    const auto critical = number_at(lines.at(i), "critical");
    Curve whole{.name = "L = " + count(length), .look = {nth_paint(i), ""}, .marker = Marker::none};
    Curve dot{.name = whole.name + ", critical", .look = whole.look, .marker = Marker::large_dot, .unlisted = true};
    const Json& tops = lines.at(i).at("tops");
    for (std::size_t k = 0; k < tops.size(); ++k) {
      const auto statistic = number_in(lines.at(i).at("statistic").at(k));
      if (!statistic) continue;
      const double top = tops.at(k).get<double>();
      whole.points.push_back({top / length, *statistic});
      shares.push_back(top / length);
      if (critical == top) dot.points.push_back(whole.points.back());
    }
    chart.curves.push_back(std::move(whole));
    if (!dot.points.empty()) chart.curves.push_back(std::move(dot));
  }
  chart.across = size_axis("N / L", shares);
  chart.across.ticks.clear();
  for (const double tick : {0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.3, 1.0})
    if (tick >= chart.across.low && tick <= chart.across.high) chart.across.ticks.push_back({tick, plain_number(tick)});
  return chart;
}

Chart separability_chart(const Json& analysis) {
  const Json& points = analysis.at("separability").at("points");
  Chart chart{.title = "How many of the selected keys are told apart",
              .subtitle = fmt::format("The share of the N selected keys that are nearer to what was selected than anything left out, L = {}. Means "
                                      "over heads; the band holds half of them. Dashed: what they cannot fall below.",
                                      count(analysis.at("separability").at("length").get<double>())),
              .across = over_sizes(kKeysSelected, points, "top"),
              .up = share_axis("share told apart"),
              .id = "separability-chart",
              .figure = "separability"};
  // Where theorem 2 is 0 or less it says nothing.
  Curve theorem = over_heads(points, {"top", "bound", "mean"}, bound("theorem 2", Paint::grey), kShare);
  std::erase_if(theorem.points, [](const Point& point) { return !(point.value > 0.0); });
  if (!theorem.points.empty()) chart.curves.push_back(std::move(theorem));
  chart.curves.push_back(over_heads(points, {"top", "counted_bound", "mean"}, bound("at least, counted", Paint::green), kShare));
  chart.curves.push_back(over_heads(points, {"top", "share", "mean", true}, line("told apart", Paint::vermillion), kShare));
  // What paper B reports, from 16 keys on.
  constexpr double kFrom = 16.0, kLow = 0.70, kHigh = 0.85;
  double first = 0.0;
  for (const Point& point : chart.curves.back().points)
    if (first == 0.0 && point.at >= kFrom) first = point.at;
  if (first > 0.0 && first < chart.across.high) chart.zones.push_back({"the paper’s range", first, chart.across.high, kLow, kHigh});
  return chart;
}

Chart gradient_chart(const Json& analysis, bool largest) {
  const Json& section = analysis.at("gradient");
  Chart chart{.title = "How much weights move when scores do",
              .subtitle = fmt::format("The change of the weights over the step ε of the scores, {} Dashed: min{{1/(2T), √2/ε}}, which no row of softmax "
                                      "exceeds. Dotted: the published min{{1/(4T), √2}}.",
                                      largest ? "largest over heads of the mean over rows."
                                              : "median over heads of the mean over rows; the band holds half of them."),
              .across = size_axis("temperature T", numbers_in(section.at("temperatures"))),
              .id = "gradient-chart",
              .figure = largest ? "gradient" : ""};
  chart.across.symbol = "T";
  const Paint paints[] = {Paint::vermillion, Paint::green, Paint::blue, Paint::amber, Paint::purple};
  const Json& steps = section.at("steps");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Paint paint = paints[i % std::size(paints)];
    const std::string name = "ε = " + plain_number(steps.at(i).get<double>());
    Curve most = bound(name + ", at most", paint), published = bound("published", Paint::grey, kDotted);
    Json points = Json::array();
    for (const Json& point : section.at("points")) {
      if (point.at("step") != steps.at(i)) continue;
      const double at = point.at("temperature").get<double>();
      points.push_back(point);
      most.points.push_back({at, point.at("bound").get<double>()});
      published.points.push_back({at, point.at("published_bound").get<double>()});
    }
    chart.curves.push_back(std::move(most));
    chart.curves.push_back(over_heads(points, {"temperature", "g", largest ? "highest" : "median", !largest}, line(name, paint)));
    if (i == 0) chart.curves.push_back(std::move(published));
  }
  finish_with_decades(chart, "change / ε");
  return chart;
}

// A column that is sorted by `part` of the spread.
FieldColumn quartiles(const char* spread, const char* part) {
  return {on_screen("quartiles"), [=](const Json& point) {
            const Json& found = point.at(spread);
            const auto low = number_at(found, "lower_quartile"), high = number_at(found, "upper_quartile");
            return Cell(number_at(found, part), low && high ? fmt::format("{} to {}", decimal(*low), decimal(*high)) : "");
          }};
}

std::string holds_text(const Json& finding) {
  return finding.at("holds").is_null() ? "open" : truth_at(finding, "holds") ? "holds" : "no";
}

Section findings_section(const Json& analysis) {
  Section section{"findings", "What paper B found, and whether it holds here", "", {}, /*brief=*/true};
  section.items.push_back({fields_table({.id = "all-findings", .title = "What paper B found", .sortable = false, .brief = false}, analysis.at("findings"),
                                        {{{"holds"}, [](const Json& finding) { return Cell(holds_text(finding)); }}, {"claim"},
                                         {"here", kText, "found"}, {"it holds if", kText, "rule"}})});
  section.items.push_back({Note{fmt::format(
      "{} tokens, {} of the text, {}. Vectors x: {}. Judged by the distance “{}”. Medians over heads of means over rows with more than N keys.",
      count(analysis.at("length").get<double>()), plural(analysis.at("chunks").get<double>(), "part"),
      heads_text(analysis), vectors_of(analysis), text_at(analysis, "distance"))}});
  for (const Json& note : analysis.at("notes")) section.items.push_back({Note{note.get<std::string>()}});
  return section;
}

// For a terminal: a line per finding.
Section findings_lines(const Json& analysis) {
  Section section{"finding-lines", "What of paper B holds here", "", {}, /*brief=*/true, /*page=*/false};
  for (const Json& finding : analysis.at("findings"))
    section.items.push_back({Note{fmt::format("{}: {}: {}", holds_text(finding), text_at(finding, "claim"), text_at(finding, "found"))}});
  return section;
}

struct DistanceWords {
  const char *section, *id, *heading, *words, *size, *column;
};

// The two readings of the distance, where both were measured: the one that was judged is shown first.
Choice choice_of_readings(const Json& analysis, const Json& measured, const char* id, Chart (*chart_of)(const Json&), const auto& table_of) {
  Choice choice{"Distance", Choice::Style::radio, 0, "distance", {}};
  static_cast<void>(measured.at(text_at(analysis, "distance")));
  constexpr std::pair<const char*, const char*> kReadings[] = {{"sum", "sum over keys left out"}, {"norm", "norm of what is left out"}};
  for (const auto& [reading, words] : kReadings) {
    if (!measured.contains(reading)) continue;
    Json of = analysis;
    of["distance"] = reading;
    Chart chart = chart_of(of);
    const bool judged = text_at(analysis, "distance") == reading;
    chart.id = std::string(id) + "-chart";
    chart.figure = judged ? id : "";
    if (judged) choice.shown = choice.options.size();
    choice.options.push_back({words, {{std::move(chart)}, {table_of(reading)}}});
  }
  return choice;
}

Section distance_section(const Json& analysis, const DistanceWords& names, Chart (*chart_of)(const Json&)) {
  const Json& points = analysis.at(names.section).at("points");
  const auto table_of = [&](const char* reading) {
    return fields_table({.id = std::string("all-") + names.id, .title = names.heading, .sortable = false}, points.at(reading),
                        {{names.column, kCount, names.size}, {"most weight", fixed_to(3), "chosen.median"}, quartiles("chosen", "median"),
                         {"drawn", fixed_to(3), "drawn.median"}, {"drawn, bound", fixed_to(3), "drawn_bound.median"},
                         {"theorem 1.1", fixed_to(3), "chosen_bound.median"}});
  };
  return {names.id, names.heading, names.words, {{choice_of_readings(analysis, points, names.id, chart_of, table_of)}}, /*brief=*/true};
}

std::string top_text(const std::optional<double>& top, const Json& line) {
  return top ? count(*top) : ">" + formatted(kCount, number_at(line, "largest_tried"));
}

Cell subsets_cell(const Json& line) {
  if (!line.contains("subsets") || line.at("subsets").is_null()) return {};
  const Json& found = line.at("subsets");
  return Cell(number_at(found, "median"), fmt::format("{} ({}–{})", top_text(number_at(found, "median"), line),
                                                      top_text(number_at(found, "lowest"), line), top_text(number_at(found, "highest"), line)));
}

Table critical_table(const Json& reading) {
  const Json &drawn = reading.at("against_drawn"), &bound = reading.at("against_drawn_bound");
  Table table{.id = "all-critical", .title = "Critical N",
              .columns = {{"L", kCount}, {"critical N, all heads", kCount}, {"of L", fixed_to(2)}, {"subsets", kCount},
                          {"against the bound", kCount}, {"subsets, bound", kCount}},
              .sortable = false};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto top = number_at(drawn.at(i), "critical"), length = number_at(drawn.at(i), "length");
    table.rows.push_back({length, Cell(top, top_text(top, drawn.at(i))), top && length > 0.0 ? std::optional(*top / *length) : std::nullopt,
                          subsets_cell(drawn.at(i)), Cell(number_at(bound.at(i), "critical"), top_text(number_at(bound.at(i), "critical"), bound.at(i))),
                          subsets_cell(bound.at(i))});
  }
  return table;
}

Section critical_section(const Json& analysis) {
  const Json& critical = analysis.at("critical_top");
  Choice choice = choice_of_readings(analysis, critical, "critical-top", critical_chart, [&](const char* reading) { return critical_table(critical.at(reading)); });
  return {"critical-top", "When chosen keys cannot be told from drawn ones",
          "The Kolmogorov–Smirnov statistic over heads between the distances of chosen and of drawn keys, one curve for each length. A dot is the "
          "critical N: the first at which the two are no longer told apart.",
          {{std::move(choice)},
           {Note{fmt::format("Test: {}; level {}. Of subsets of the heads the median, and the range in brackets.", text_at(critical, "test"),
                             plain_number(critical.at("level").get<double>()))}}},
          /*brief=*/true};
}

Section separability_section(const Json& analysis) {
  const Json& measured = analysis.at("separability");
  const auto theorem = [](const Json& point) {
    const auto least = number_at(point.at("bound"), "mean");
    return Cell(least, least > 0.0 ? "" : "nothing");
  };
  Table table = fields_table({.id = "all-separability", .title = "Separability", .sortable = false}, measured.at("points"),
                             {{"N", kCount, "top"}, {"mean over heads", fixed_to(2), "share.mean"}, quartiles("share", "mean"),
                              {{"theorem 2 at least", fixed_to(2)}, theorem}, {"counted at least", fixed_to(2), "counted_bound.mean"}});
  return {"separability", "How many of the selected keys are told apart",
          "The share of the N selected keys that are nearer to what was selected than anything left out. Means over heads; the band holds half of "
          "them. Dashed: what they cannot fall below.",
          {{separability_chart(analysis)}, {std::move(table)},
           {Note{fmt::format("L = {}. Where theorem 2 is 0 or less it says nothing and is not drawn.", count(measured.at("length").get<double>()))}}},
          /*brief=*/true};
}

Section gradient_section(const Json& analysis) {
  const Json& measured = analysis.at("gradient");
  Table table{.id = "all-gradient", .title = "Gradient", .columns = {{"T", kPlain}}, .sortable = false};
  for (const double step : numbers_in(measured.at("steps"))) {
    table.columns.push_back({"ε = " + plain_number(step), fixed_to(3)});
    table.columns.push_back({"at most", fixed_to(3)});
  }
  table.columns.push_back({"published", fixed_to(3)});
  for (const double temperature : numbers_in(measured.at("temperatures"))) {
    std::vector<Cell> row{temperature};
    Cell published;
    for (const double step : numbers_in(measured.at("steps")))
      for (const Json& point : measured.at("points"))
        if (point.at("step") == step && point.at("temperature") == temperature) {
          row.insert(row.end(), {number_at(point.at("g"), "highest"), number_at(point, "bound")});
          published = number_at(point, "published_bound");
        }
    row.resize(table.columns.size() - 1);
    row.push_back(std::move(published));
    table.rows.push_back(std::move(row));
  }
  Choice choice{"Over heads", Choice::Style::radio, 0, "", {}};
  for (const bool largest : {true, false})
    choice.options.push_back({largest ? "the largest" : "median and quartiles", {{gradient_chart(analysis, largest)}}});
  return {"gradient", "How much weights move when scores do",
          "The change of the weights, over the step ε that the scores took in a random direction, against the temperature: means over rows of each "
          "head. Dashed: min{1/(2T), √2/ε}, which no row of softmax exceeds. Dotted: the published min{1/(4T), √2}.",
          {{std::move(choice)}, {std::move(table)}, {Note{fmt::format("L = {}. The table has the largest over heads.", count(measured.at("length").get<double>()))}}},
          /*brief=*/true};
}

}  // namespace

Words findings_sentence(const Json& analysis) {
  double kept = 0.0, judged = 0.0;
  std::string failing;
  for (const Json& finding : analysis.at("findings")) {
    if (finding.at("holds").is_null()) continue;
    judged += 1.0;
    if (finding.at("holds").get_ref<const bool&>())
      kept += 1.0;
    else
      failing += (failing.empty() ? "" : "; ") + text_at(finding, "claim");
  }
  const double open = static_cast<double>(analysis.at("findings").size()) - judged;
  return fmt::format("{} of {} of paper B {} here{}{}{}", count(kept), plural(judged, "finding"), kept == 1.0 ? "holds" : "hold",
                     failing.empty() ? "" : "; not: " + failing, ".", open > 0.0 ? fmt::format(" {} could not be judged.", plural(open, "finding")) : "");
}

std::vector<Section> analysis_sections(const Json& analysis) {
  std::vector<Section> sections{findings_lines(analysis), findings_section(analysis)};
  if (analysis.contains("distance_length"))
    sections.push_back(distance_section(
        analysis,
        {"distance_length", "distance-length", "Distance against length",
         "How far what a head selects, its N keys with most weight, is from what it leaves out, beside N keys drawn at random. Medians over heads; the "
         "band holds half of them. Dashed: what cannot be exceeded.",
         "length", "L"},
        distance_length_chart));
  if (analysis.contains("distance_top"))
    sections.push_back(distance_section(analysis,
                                        {"distance_top", "distance-top", "Distance against the number of keys",
                                         "The same at one length, for more and more keys.", "top", "N"},
                                        distance_top_chart));
  if (analysis.contains("critical_top")) sections.push_back(critical_section(analysis));
  if (analysis.contains("separability")) sections.push_back(separability_section(analysis));
  if (analysis.contains("gradient")) sections.push_back(gradient_section(analysis));
  return sections;
}

}  // namespace sharpmax::report
