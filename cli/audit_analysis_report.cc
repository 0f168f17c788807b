// The text that `sharpmax audit --analysis` prints, made of its JSON alone.
#include <fmt/format.h>

#include "cli/audit_analysis.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

// Three digits; a dash where there is none.
std::string three(const Json& value) {
  if (value.is_null()) return "-";
  const double x = value.get<double>();
  if (x == 0.0) return "0";
  return std::abs(x) >= 1000 && std::abs(x) < 1e6 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

std::string two(const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:.2f}", value.get<double>());
}

std::string quartiles(const Json& spread) {
  return fmt::format("{} to {}", three(spread["lower_quartile"]), three(spread["upper_quartile"]));
}

std::string titled(const std::string& title, const Table& table, bool colour) {
  return "\n" + inked(wrapped(title), Ink::bold, colour) + "\n" + table.text(colour);
}

std::vector<Cell> head_row(std::initializer_list<const char*> names) {
  std::vector<Cell> row;
  for (const char* name : names) row.push_back({name, Ink::dim});
  return row;
}

std::string findings_text(const Json& analysis, bool colour) {
  std::string text = inked("What paper B found, and whether it holds here", Ink::bold, colour) + "\n";
  for (const Json& finding : analysis["findings"]) {
    const Json& holds = finding["holds"];
    const bool known = !holds.is_null(), yes = known && holds.get<bool>();
    text += inked(!known ? "open "
                  : yes  ? "holds"
                         : "no   ",
                  !known ? Ink::dim
                  : yes  ? Ink::green
                         : Ink::red,
                  colour);
    text += "  " + wrapped(finding["claim"].get<std::string>() + ": " + finding["found"].get<std::string>(),
                           kScreenWidth - 7, 7);
    text += "\n";
  }
  return text;
}

std::string context_text(const Json& a) {
  return wrapped(
             fmt::format("L = {}, {} chunk{}, {} heads. x: {}. Distance: {}. Medians over heads of means "
                         "over rows with more "
                         "than N keys; \"drawn\" takes N keys at random, of which \"drawn, bound\" is a "
                         "closed form from above.",
                         grouped(a["length"].get<long long>()), a["chunks"].get<long long>(),
                         a["chunks"] == 1 ? "" : "s", a["heads"].get<long long>(),
                         a["vectors"] == "values" ? "the heads' values" : "hidden states before the layer",
                         a["distance"] == "sum" ? "sum over keys left out of |s - a_i x_i|"
                                                : "|sum over keys left out of a_i x_i - s|")) +
         "\n";
}

void add_distances(Table& table, const std::string& first, const Json& point,
                   const std::vector<Cell>& extra = {}) {
  std::vector<Cell> row{{first}, {three(point["chosen"]["median"])}, {quartiles(point["chosen"]), Ink::dim}};
  row.insert(row.end(), extra.begin(), extra.end());
  row.push_back({three(point["drawn"]["median"])});
  row.push_back({three(point["drawn_bound"]["median"])});
  row.push_back({three(point["chosen_bound"]["median"])});
  table.add(std::move(row));
}

std::string distance_length_text(const Json& a, bool colour) {
  const Json& section = a["distance_length"];
  Table table(std::vector<Align>(6, Align::right));
  table.add(head_row({"L", "most weight", "quartiles", "drawn", "drawn, bound", "theorem 1.1"}));
  for (const Json& point : section["points"][a["distance"].get<std::string>()])
    add_distances(table, short_count(point["length"].get<long long>()), point);
  return titled(fmt::format("Distance against L, N = {}", section["top"].get<long long>()), table, colour);
}

std::string distance_top_text(const Json& a, bool colour) {
  const Json& section = a["distance_top"];
  const std::string reading = a["distance"];
  Table table(std::vector<Align>(7, Align::right));
  table.add(head_row({"N", "most weight", "quartiles", "same rows", "drawn", "drawn, bound", "theorem 1.1"}));
  for (std::size_t i = 0; i < section["points"][reading].size(); ++i) {
    const Json& point = section["points"][reading][i];
    add_distances(table, std::to_string(point["top"].get<long long>()), point,
                  {{three(section["same_rows"][reading][i]["chosen"]["median"])}});
  }
  return titled(fmt::format("Distance against N, L = {}", grouped(section["length"].get<long long>())), table,
                colour);
}

std::string top_text(const Json& top, const Json& largest) {
  return top.is_null() ? fmt::format(">{}", largest.get<long long>())
                       : fmt::format("{}", top.get<long long>());
}

std::string share_text(const Json& at) {
  const bool found = !at["critical"].is_null();
  const double top = (found ? at["critical"] : at["largest_tried"]).get<double>();
  return fmt::format("{}{:.2f}", found ? "" : ">", top / at["length"].get<double>());
}

std::string subsets_text(const Json& at) {
  const Json &subsets = at["subsets"], &largest = at["largest_tried"];
  if (subsets.is_null()) return "-";
  const std::string low = top_text(subsets["lowest"], largest), high = top_text(subsets["highest"], largest);
  const std::string middle = top_text(subsets["median"], largest);
  return low == high ? middle : fmt::format("{} ({} to {})", middle, low, high);
}

std::string critical_top_text(const Json& a, bool colour) {
  const Json& section = a["critical_top"][a["distance"].get<std::string>()];
  const Json &drawn = section["against_drawn"], &bound = section["against_drawn_bound"];
  Table table(std::vector<Align>(6, Align::right));
  const std::string subsets = drawn[0]["subsets"].is_null()
                                  ? "subsets"
                                  : fmt::format("{} heads", drawn[0]["subsets"]["heads"].get<long long>());
  table.add(
      head_row({"L", "all heads", "of L", subsets.c_str(), "all, bound", (subsets + ", bound").c_str()}));
  for (std::size_t i = 0; i < drawn.size(); ++i)
    table.add({{short_count(drawn[i]["length"].get<long long>())},
               {top_text(drawn[i]["critical"], drawn[i]["largest_tried"])},
               {share_text(drawn[i])},
               {subsets_text(drawn[i])},
               {top_text(bound[i]["critical"], bound[i]["largest_tried"])},
               {subsets_text(bound[i])}});
  return titled(
      fmt::format("Critical N: first with p >= {} between most weight and drawn; median (range) of subsets",
                  a["critical_top"]["level"].get<double>()),
      table, colour);
}

std::string separability_text(const Json& a, bool colour) {
  Table table(std::vector<Align>(5, Align::right));
  table.add(head_row({"N", "mean over heads", "quartiles", "theorem 2 at least", "counted at least"}));
  for (const Json& point : a["separability"]["points"]) {
    const double bound = point["bound"]["mean"].is_null() ? 0.0 : point["bound"]["mean"].get<double>();
    table.add({{std::to_string(point["top"].get<long long>())},
               {two(point["share"]["mean"])},
               {fmt::format("{} to {}", two(point["share"]["lower_quartile"]),
                            two(point["share"]["upper_quartile"])),
                Ink::dim},
               {bound > 0 ? two(point["bound"]["mean"]) : "nothing", bound > 0 ? Ink::plain : Ink::dim},
               {two(point["counted_bound"]["mean"])}});
  }
  return titled("Separability: share of the N keys told apart, N_s / N", table, colour);
}

std::string gradient_text(const Json& a, bool colour) {
  const Json& section = a["gradient"];
  const std::size_t steps = section["steps"].size(), temperatures = section["temperatures"].size();
  Table table(std::vector<Align>(2 * steps + 2, Align::right));
  std::vector<Cell> names{{"T", Ink::dim}};
  for (const Json& step : section["steps"]) {
    names.push_back({fmt::format("e = {}", step.get<double>()), Ink::dim});
    names.push_back({"at most", Ink::dim});
  }
  names.push_back({"published", Ink::dim});
  table.add(std::move(names));
  for (std::size_t t = 0; t < temperatures; ++t) {
    std::vector<Cell> row{{fmt::format("{}", section["temperatures"][t].get<double>())}};
    for (std::size_t step = 0; step < steps; ++step) {
      const Json& point = section["points"][step * temperatures + t];
      row.push_back({three(point["g"]["highest"])});
      row.push_back({three(point["bound"]), Ink::dim});
    }
    row.push_back({three(section["points"][t]["published_bound"]), Ink::dim});
    table.add(std::move(row));
  }
  return titled("Gradient: largest over heads of the mean over rows of |change of weights| / e", table,
                colour);
}

}  // namespace

std::string analysis_report(const Json& analysis, bool colour) {
  std::string text = findings_text(analysis, colour) + "\n" + context_text(analysis);
  if (analysis.contains("distance_length")) text += distance_length_text(analysis, colour);
  if (analysis.contains("distance_top")) text += distance_top_text(analysis, colour);
  if (analysis.contains("critical_top")) text += critical_top_text(analysis, colour);
  if (analysis.contains("separability")) text += separability_text(analysis, colour);
  if (analysis.contains("gradient")) text += gradient_text(analysis, colour);
  return text;
}

}  // namespace sharpmax::cli
