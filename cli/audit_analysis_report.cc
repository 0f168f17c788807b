// The text of paper B's analyses.
#include <fmt/format.h>

#include <cmath>

#include "cli/audit_report.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

// Three digits; a dash for not-a-number.
std::string three_digits(double x) {
  if (std::isnan(x)) return "-";
  if (x == 0.0) return "0";
  return std::abs(x) >= 1000 && std::abs(x) < 1e6 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

std::string two_decimals(double x) { return std::isnan(x) ? "-" : fmt::format("{:.2f}", x); }

std::string quartiles(const HeadSpread& spread) {
  return fmt::format("{} to {}", three_digits(spread.lower_quartile), three_digits(spread.upper_quartile));
}

std::string titled(const std::string& title, const Table& table, bool colour) {
  return "\n" + inked(wrapped(title), Ink::bold, colour) + "\n" + table.text(colour);
}

std::vector<Cell> head_row(std::initializer_list<const char*> names) {
  std::vector<Cell> row;
  for (const char* name : names) row.push_back({name, Ink::dim});
  return row;
}

std::string findings_text(const AnalysisFindings& a, bool colour) {
  std::string text = inked("What paper B found, and whether it holds here", Ink::bold, colour) + "\n";
  for (const PaperFinding& finding : a.findings) {
    const char* const word = !finding.holds ? "open " : *finding.holds ? "holds" : "no   ";
    const Ink ink = !finding.holds ? Ink::dim : *finding.holds ? Ink::green : Ink::red;
    text += inked(word, ink, colour) + "  " + wrapped(finding.claim + ": " + finding.found, kScreenWidth - 7, 7) + "\n";
  }
  return text;
}

std::string context_text(const AnalysisFindings& a) {
  return wrapped(
             fmt::format("L = {}, {} chunk{}, {} heads. x: {}. Distance: {}. Medians over heads of means "
                         "over rows with more than N keys; \"drawn\" takes N keys at random, of which \"drawn, bound\" is a "
                         "closed form from above.",
                         grouped(a.length), a.chunks, a.chunks == 1 ? "" : "s", a.heads,
                         a.vectors == "values" ? "the heads' values" : "hidden states before the layer",
                         a.distance == "sum" ? "sum over keys left out of |s - a_i x_i|"
                                             : "|sum over keys left out of a_i x_i - s|")) +
         "\n";
}

void add_distances(Table& table, const std::string& first, const DistancePoint& point,
                   const std::vector<Cell>& extra = {}) {
  std::vector<Cell> row{{first}, {three_digits(point.chosen.median)}, {quartiles(point.chosen), Ink::dim}};
  row.insert(row.end(), extra.begin(), extra.end());
  row.push_back({three_digits(point.drawn.median)});
  row.push_back({three_digits(point.drawn_bound.median)});
  row.push_back({three_digits(point.chosen_bound.median)});
  table.add(std::move(row));
}

std::string distance_length_text(const DistanceLength& section, const std::string& distance, bool colour) {
  Table table(std::vector<Align>(6, Align::right));
  table.add(head_row({"L", "most weight", "quartiles", "drawn", "drawn, bound", "theorem 1.1"}));
  for (const DistancePoint& point : section.points.of(distance)) add_distances(table, short_count(point.length), point);
  return titled(fmt::format("Distance against L, N = {}", section.top), table, colour);
}

std::string distance_top_text(const DistanceTop& section, const std::string& distance, bool colour) {
  Table table(std::vector<Align>(7, Align::right));
  table.add(head_row({"N", "most weight", "quartiles", "same rows", "drawn", "drawn, bound", "theorem 1.1"}));
  const auto &points = section.points.of(distance), &same_rows = section.same_rows.of(distance);
  for (std::size_t i = 0; i < points.size(); ++i)
    add_distances(table, std::to_string(points[i].top), points[i], {{three_digits(same_rows[i].chosen.median)}});
  return titled(fmt::format("Distance against N, L = {}", grouped(section.length)), table, colour);
}

std::string top_text(const std::optional<std::int64_t>& top, std::int64_t largest) {
  return top ? fmt::format("{}", *top) : fmt::format(">{}", largest);
}

std::string share_text(const CriticalPoint& at) {
  const auto top = static_cast<double>(at.critical.value_or(at.largest_tried));
  return fmt::format("{}{:.2f}", at.critical ? "" : ">", top / static_cast<double>(at.length));
}

std::string subsets_text(const CriticalPoint& at) {
  if (!at.subsets) return "-";
  const std::string low = top_text(at.subsets->lowest, at.largest_tried);
  const std::string high = top_text(at.subsets->highest, at.largest_tried);
  const std::string middle = top_text(at.subsets->median, at.largest_tried);
  return low == high ? middle : fmt::format("{} ({} to {})", middle, low, high);
}

std::string critical_top_text(const CriticalTops& section, const std::string& distance, bool colour) {
  const auto& [drawn, bound] = section.curves.of(distance);
  Table table(std::vector<Align>(6, Align::right));
  const std::string subsets =
      drawn.empty() || !drawn[0].subsets ? "subsets" : fmt::format("{} heads", drawn[0].subsets->heads);
  table.add(head_row({"L", "all heads", "of L", subsets.c_str(), "all, bound", (subsets + ", bound").c_str()}));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    table.add({{short_count(drawn[i].length)},
               {top_text(drawn[i].critical, drawn[i].largest_tried)},
               {share_text(drawn[i])},
               {subsets_text(drawn[i])},
               {top_text(bound[i].critical, bound[i].largest_tried)},
               {subsets_text(bound[i])}});
  return titled(
      fmt::format("Critical N: first with p >= {} between most weight and drawn; median (range) of subsets", section.level),
      table, colour);
}

std::string separability_text(const SeparabilityCurve& section, bool colour) {
  Table table(std::vector<Align>(5, Align::right));
  table.add(head_row({"N", "mean over heads", "quartiles", "theorem 2 at least", "counted at least"}));
  for (const SeparabilityPoint& point : section.points) {
    const bool bounded = point.bound.mean > 0;
    table.add({{std::to_string(point.top)},
               {two_decimals(point.share.mean)},
               {fmt::format("{} to {}", two_decimals(point.share.lower_quartile), two_decimals(point.share.upper_quartile)),
                Ink::dim},
               {bounded ? two_decimals(point.bound.mean) : "nothing", bounded ? Ink::plain : Ink::dim},
               {two_decimals(point.counted.mean)}});
  }
  return titled("Separability: share of the N keys told apart, N_s / N", table, colour);
}

std::string gradient_text(const GradientCurve& section, bool colour) {
  const std::size_t steps = section.steps.size(), temperatures = section.temperatures.size();
  Table table(std::vector<Align>(2 * steps + 2, Align::right));
  std::vector<Cell> names{{"T", Ink::dim}};
  for (const double step : section.steps) {
    names.push_back({fmt::format("e = {}", step), Ink::dim});
    names.push_back({"at most", Ink::dim});
  }
  names.push_back({"published", Ink::dim});
  table.add(std::move(names));
  for (std::size_t t = 0; t < temperatures; ++t) {
    std::vector<Cell> row{{fmt::format("{}", section.temperatures[t])}};
    for (std::size_t step = 0; step < steps; ++step) {
      const GradientPoint& point = section.points[step * temperatures + t];
      row.push_back({three_digits(point.g.highest)});
      row.push_back({three_digits(point.bound), Ink::dim});
    }
    row.push_back({three_digits(section.points[t].published_bound), Ink::dim});
    table.add(std::move(row));
  }
  return titled("Gradient: largest over heads of the mean over rows of |change of weights| / e", table, colour);
}

}  // namespace

std::string text_of(const AnalysisResult& result, bool colour) {
  const AnalysisFindings& a = *result.analysis;
  std::string text = wrapped(fmt::format("{} on {}, measured in {}", result.settings.model.file, result.settings.text,
                                         duration(*result.seconds))) +
                     "\n\n";
  text += findings_text(a, colour) + "\n" + context_text(a);
  if (a.distance_length) text += distance_length_text(*a.distance_length, a.distance, colour);
  if (a.distance_top) text += distance_top_text(*a.distance_top, a.distance, colour);
  if (a.critical_top) text += critical_top_text(*a.critical_top, a.distance, colour);
  if (a.separability) text += separability_text(*a.separability, colour);
  if (a.gradient) text += gradient_text(*a.gradient, colour);
  return text;
}

}  // namespace sharpmax::cli
