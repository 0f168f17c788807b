// Paper B's five analyses in the view of an audit: what of its findings holds, and a figure and a table for each.
#include <fmt/format.h>

#include <algorithm>

#include "report/kind/audit_charts.h"

namespace sharpmax::report {
namespace {

constexpr Format kNumber{Format::count};

std::string quartiles_text(const Json& spread) {
  const auto low = number_at(spread, "lower_quartile"), high = number_at(spread, "upper_quartile");
  return low && high ? fmt::format("{} to {}", decimal(*low), decimal(*high)) : "";
}

Section findings_section(const Json& analysis) {
  Table table{.id = "all-findings",
              .title = "What paper B found",
              .columns = {{.name = "holds"}, {.name = "claim"}, {.name = "here"}, {.name = "it holds if", .brief = false}},
              .sortable = false,
              .brief = false};
  Section section{"findings", "What paper B found, and whether it holds here", "", {}, /*brief=*/true};
  std::vector<Item> lines;
  for (const Json& finding : analysis.at("findings")) {
    const Json& holds = finding.at("holds");
    const std::string word = holds.is_null() ? "open" : holds.get_ref<const bool&>() ? "holds" : "no";
    table.rows.push_back({word, text_at(finding, "claim"), text_at(finding, "found"), text_at(finding, "rule")});
  }
  section.items.push_back({std::move(table)});
  section.items.push_back({Note{fmt::format(
      "{} tokens, {} of the text, {}. Vectors x: {}. Judged by the distance “{}”. Medians over heads of means over rows with more than N keys.",
      count(analysis.at("length").get<double>()), plural(analysis.at("chunks").get<double>(), "part"),
      plural(analysis.at("heads").get<double>(), "head"),
      analysis.at("vectors") == "values" ? "the heads’ values" : "hidden states before the layer", text_at(analysis, "distance"))}});
  for (const Json& note : analysis.at("notes")) section.items.push_back({Note{note.get<std::string>()}});
  return section;
}

// For a terminal: a line per finding.
Section findings_lines(const Json& analysis) {
  Section section{"finding-lines", "What of paper B holds here", "", {}, /*brief=*/true, /*page=*/false};
  for (const Json& finding : analysis.at("findings")) {
    const Json& holds = finding.at("holds");
    const char* word = holds.is_null() ? "open" : holds.get_ref<const bool&>() ? "holds" : "no";
    section.items.push_back({Note{fmt::format("{}: {}: {}", word, text_at(finding, "claim"), text_at(finding, "found"))}});
  }
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
    Table table{.id = std::string("all-") + names.id,
                .title = names.heading,
                .columns = {{.name = names.column, .format = kNumber},
                            {.name = "most weight", .format = fixed_to(3)},
                            {.name = "quartiles", .csv = false},
                            {.name = "drawn", .format = fixed_to(3)},
                            {.name = "drawn, bound", .format = fixed_to(3)},
                            {.name = "theorem 1.1", .format = fixed_to(3)}},
                .sortable = false};
    for (const Json& point : points.at(reading)) {
      const auto chosen = number_at(point.at("chosen"), "median");
      table.rows.push_back({number_at(point, names.size), chosen, Cell(chosen, quartiles_text(point.at("chosen"))),
                            number_at(point.at("drawn"), "median"), number_at(point.at("drawn_bound"), "median"),
                            number_at(point.at("chosen_bound"), "median")});
    }
    return table;
  };
  return {names.id, names.heading, names.words, {{choice_of_readings(analysis, points, names.id, chart_of, table_of)}}, /*brief=*/true};
}

std::string top_text(const std::optional<double>& top, const Json& line) {
  return top ? count(*top) : ">" + formatted(kNumber, number_at(line, "largest_tried"));
}

Cell subsets_cell(const Json& line) {
  if (!line.contains("subsets") || line.at("subsets").is_null()) return {};
  const Json& found = line.at("subsets");
  return Cell(number_at(found, "median"), fmt::format("{} ({}–{})", top_text(number_at(found, "median"), line),
                                                      top_text(number_at(found, "lowest"), line), top_text(number_at(found, "highest"), line)));
}

Table critical_table(const Json& reading) {
  const Json &drawn = reading.at("against_drawn"), &bound = reading.at("against_drawn_bound");
  Table table{.id = "all-critical",
              .title = "Critical N",
              .columns = {{.name = "L", .format = kNumber},
                          {.name = "critical N, all heads", .format = kNumber},
                          {.name = "of L", .format = fixed_to(2)},
                          {.name = "subsets", .format = kNumber},
                          {.name = "against the bound", .format = kNumber},
                          {.name = "subsets, bound", .format = kNumber}},
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
  Table table{.id = "all-separability",
              .title = "Separability",
              .columns = {{.name = "N", .format = kNumber}, {.name = "mean over heads", .format = fixed_to(2)}, {.name = "quartiles", .csv = false},
                          {.name = "theorem 2 at least", .format = fixed_to(2)}, {.name = "counted at least", .format = fixed_to(2)}},
              .sortable = false};
  for (const Json& point : measured.at("points")) {
    const auto bound = number_at(point.at("bound"), "mean"), mean = number_at(point.at("share"), "mean");
    table.rows.push_back({number_at(point, "top"), mean, Cell(mean, quartiles_text(point.at("share"))), Cell(bound, bound > 0.0 ? "" : "nothing"),
                          number_at(point.at("counted_bound"), "mean")});
  }
  Chart chart = separability_chart(analysis);
  chart.id = "separability-chart";
  chart.figure = "separability";
  return {"separability", "How many of the selected keys are told apart",
          "The share of the N selected keys that are nearer to what was selected than anything left out. Means over heads; the band holds half of "
          "them. Dashed: what they cannot fall below.",
          {{std::move(chart)}, {std::move(table)},
           {Note{fmt::format("L = {}. Where theorem 2 is 0 or less it says nothing and is not drawn.", count(measured.at("length").get<double>()))}}},
          /*brief=*/true};
}

Section gradient_section(const Json& analysis) {
  const Json& measured = analysis.at("gradient");
  Table table{.id = "all-gradient", .title = "Gradient", .columns = {{.name = "T", .format = {Format::plain}}}, .sortable = false};
  for (const double step : numbers_in(measured.at("steps"))) {
    table.columns.push_back({.name = "ε = " + plain_number(step), .format = fixed_to(3)});
    table.columns.push_back({.name = "at most", .format = fixed_to(3)});
  }
  table.columns.push_back({.name = "published", .format = fixed_to(3)});
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
  for (const bool largest : {true, false}) {
    Chart chart = gradient_chart(analysis, largest);
    chart.id = "gradient-chart";
    chart.figure = largest ? "gradient" : "";
    choice.options.push_back({largest ? "the largest" : "median and quartiles", {{std::move(chart)}}});
  }
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
