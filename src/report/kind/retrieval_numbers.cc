// All numbers of max retrieval, what was proved of the heads beside what was measured, and several runs side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "base/in_quotes.h"
#include "report/kind/rows.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

using MeasuredKey = std::tuple<std::string, std::string, std::int64_t>;  // arm, normalizer, n

MeasuredKey measured_key(const Json& row) { return {text_at(row, "arm"), text_at(row, "normalizer"), row.at("n").get<std::int64_t>()}; }

// The 95 % interval in per cent: 97.1–98.9.
std::string accuracy_ends(const Json& row) {
  const auto low = number_at(row, "accuracy_low"), high = number_at(row, "accuracy_high");
  return low && high ? fmt::format("{:.1f}–{:.1f}", 100.0 * *low, 100.0 * *high) : "";
}

// Over the seeds of one arm, normalizer and size.
struct Measured {
  double sets = 0.0, violations = 0.0;
  std::optional<double> temperature, spread, largest, bound;
};

std::map<MeasuredKey, Measured> measured_of(const Json& results) {
  std::map<MeasuredKey, std::vector<const Json*>> grouped;
  for (const Json& row : results.at("results")) grouped[measured_key(row)].push_back(&row);
  std::map<MeasuredKey, Measured> measured;
  for (const auto& [key, rows] : grouped) {
    Measured& one = measured[key];
    const auto mean = [&rows = rows](const char* name) {
      double sum = 0.0, n = 0.0;
      for (const Json* row : rows)
        if (const auto value = number_at(*row, name)) sum += *value, n += 1.0;
      return n > 0.0 ? std::optional(sum / n) : std::nullopt;
    };
    const auto most = [&rows = rows](const char* name) {
      std::optional<double> found;
      for (const Json* row : rows)
        if (const auto value = number_at(*row, name)) found = std::max(found.value_or(*value), *value);
      return found;
    };
    for (const Json* row : rows) one.sets += row->at("sets").get<double>(), one.violations += row->at("bound_violations").get<double>();
    one.temperature = mean("temperature");
    one.spread = mean("spread");
    one.largest = most("largest_peak_weight");
    one.bound = most("weight_bound");
  }
  return measured;
}

Section certificate_section(const Json& results, const std::map<MeasuredKey, Measured>& measured) {
  Section section{"certificate", "What no input can do",
                  "Over every priority and query in [0, 1] and every class, a head’s scores spread at most so far. Under softmax this bounds "
                  "every weight at every size; each measured row was checked against it.",
                  {}, /*brief=*/true};
  constexpr std::size_t kMany = 4;
  std::vector<std::string> arms;
  double more = 0.0;
  for (const Json& head : results.at("heads")) {
    const bool first = !holds(arms, text_at(head, "arm"));
    add_once(arms, text_at(head, "arm"));
    const Json& spread = head.at("spread");
    if (results.at("heads").size() > kMany && !first) {
      more += 1.0;
      continue;
    }
    section.items.push_back({Note{fmt::format(
        "Arm {}, seed {}: scores spread at most {} ({} is attained); from {} items on no input at all gets half of the weight under softmax.",
        text_at(head, "arm"), count(head.at("seed").get<double>()), formatted(fixed_to(2), number_at(spread, "certified")),
        formatted(fixed_to(2), number_at(spread, "attained")), formatted(kPower, number_at(head, "half_lost_from_log10")))}});
  }
  if (section.items.empty()) return section;
  if (more > 0.0) section.items.push_back({Note{plural(more, "more head") + " in the JSON."}});
  double broken = 0.0, checked = 0.0;
  for (const auto& [key, one] : measured) broken += one.violations, checked += one.sets;
  section.items.push_back({Note{fmt::format("{} among {} of weights.", plural(broken, "violation"), plural(checked, "measured row"))}});
  return section;
}

Section rows_section(const Json& results, const std::map<MeasuredKey, Measured>& measured) {
  Table table{.id = "all-rows", .title = "All numbers",
              .columns = {{"training", kCode}, {"normalizer", kCode}, {"n", kCount}, {"seeds", kCount},
                          {"sets", kCount}, {"accuracy", kShare}, on_screen("95 % interval"),
                          in_csv("accuracy low", kShare), in_csv("accuracy high", kShare), {"entropy", fixed_to(3)},
                          {"peak weight", fixed_to(3)}, {"weight on right", fixed_to(3)},
                          {"temperature β", fixed_to(3)}, {"score spread", fixed_to(2)}, {"ranked first", kShare},
                          {"hard right", kShare}, {"largest weight", fixed_to(3)}, {"its bound", fixed_to(3)}},
              .tall = true};
  for (const Json& row : results.at("summary")) {
    const auto found = measured.find(measured_key(row));
    if (found == measured.end())
      throw Error(ErrorCode::bad_argument, fmt::format("report: the summary has {} at n = {}, the results have not",
                                                       in_quotes(text_at(row, "normalizer")), row.at("n").get<std::int64_t>()));
    const Measured& one = found->second;
    const auto low = number_at(row, "accuracy_low");
    table.rows.push_back({text_at(row, "arm"), text_at(row, "normalizer"), size_at(row, "n"), number_at(row, "seeds"), one.sets,
                          number_at(row, "accuracy"), Cell(low, accuracy_ends(row)), low, number_at(row, "accuracy_high"),
                          number_at(row, "entropy"), number_at(row, "peak_weight"), number_at(row, "right_weight"), one.temperature, one.spread,
                          number_at(row, "ranked_first"), number_at(row, "hard_accuracy"), one.largest, one.bound});
  }
  return {"numbers", "All numbers", "", {{std::move(table)}}};
}

}  // namespace

std::vector<Section> retrieval_numbers(const Json& results) {
  const auto measured = measured_of(results);
  return {certificate_section(results, measured), rows_section(results, measured)};
}

// Several runs of max retrieval: one normalizer, a curve for each run.

void compare_retrievals(View& view, std::span<const Compared> compared) {
  std::vector<RetrievalRows> runs;
  for (const Compared& one : compared) runs.emplace_back(*one.results);
  std::vector<std::string> names;
  std::vector<double> sizes;
  for (const RetrievalRows& run : runs) {
    for (const std::string& name : run.normalizers()) add_once(names, name);
    for (const double n : run.sizes()) add_once(sizes, n);
  }
  if (names.empty()) return;
  const auto plain = std::find_if(names.begin(), names.end(), [](const std::string& name) { return family_of(name) == "softmax"; });
  Choice choice{"Normalizer", Choice::Style::select, plain == names.end() ? 0 : static_cast<std::size_t>(plain - names.begin()), "", {}};
  for (const std::string& name : names) {
    Chart chart{.title = "Accuracy of the runs, " + name, .subtitle = "The first training of each. Bands are 95\u00a0% intervals.",
                .across = counts_axis("items in the set", "n", sizes), .up = share_axis("accuracy"), .id = "compared-accuracy-chart"};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].arms().empty() || !holds(runs[i].normalizers(), name)) continue;
      Curve curve = accuracy_curve(runs[i], runs[i].arms()[0], name);
      curve.name = compared[i].named.own;
      curve.look = compared[i].named.look;
      curve.code = false;
      if (!curve.points.empty()) chart.curves.push_back(std::move(curve));
    }
    choice.options.push_back({name, {{std::move(chart)}}});
  }
  view.sections.push_back({"compared-accuracy", "Accuracy of the runs", "The first training of each run, under one normalizer.", {{std::move(choice)}}});
  std::vector<double> common = runs[0].sizes();
  for (const RetrievalRows& run : runs) std::erase_if(common, [&](double n) { return !holds(run.sizes(), n); });
  if (common.empty()) return;
  const double n = common.back();
  Table table{.id = "compared-table", .title = "Accuracy of the runs",
              .columns = {{"training", kCode}, {"normalizer", kCode}}, .tall = true};
  for (const Compared& one : compared) table.columns.push_back({one.named.own, kShare});
  for (std::size_t i = 1; i < compared.size(); ++i)
    table.columns.push_back({fmt::format("{} less {}, points", compared[i].named.number, compared[0].named.number), kPoints});
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const RetrievalRows& run : runs)
    for (const std::string& arm : run.arms())
      for (const std::string& name : run.normalizers()) add_once(pairs, std::pair(arm, name));
  for (const auto& [arm, name] : pairs) {
    std::vector<Cell> cells{arm, name};
    std::vector<std::optional<double>> found;
    for (const RetrievalRows& run : runs) {
      const Json* row = run.row(arm, name, n);
      found.push_back(row ? number_at(*row, "accuracy") : std::nullopt);
      cells.push_back(Cell(found.back(), row && found.back() ? fmt::format("{} ({})", percent(*found.back()), accuracy_ends(*row)) : ""));
    }
    if (std::count_if(found.begin(), found.end(), [](const auto& one) { return one.has_value(); }) < 2) continue;
    for (std::size_t i = 1; i < found.size(); ++i)
      cells.push_back(found[i] && found[0] ? Cell(*found[i] - *found[0]) : Cell());
    table.rows.push_back(std::move(cells));
  }
  if (!table.rows.empty())
    view.sections.push_back({"compared-rows", fmt::format("All normalizers at n = {}", count(n)),
                             "Accuracy at the largest size that every run has, with 95\u00a0% intervals in per cent.", {{std::move(table)}}, /*brief=*/true});
}

}  // namespace sharpmax::report
