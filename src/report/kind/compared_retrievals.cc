// Several runs of max retrieval: one normalizer, a curve for each run.
#include <fmt/format.h>

#include <algorithm>

#include "report/kind/kinds.h"
#include "report/kind/retrieval_rows.h"
#include "report/view/looks.h"

namespace sharpmax::report {

std::string accuracy_ends(const Json& row) {
  const auto low = number_at(row, "accuracy_low"), high = number_at(row, "accuracy_high");
  return low && high ? fmt::format("{:.1f}–{:.1f}", 100.0 * *low, 100.0 * *high) : "";
}

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
  Table table{.id = "compared-table", .title = "Accuracy of the runs", .columns = {{.name = "training", .code = true}, {.name = "normalizer", .code = true}}, .tall = true};
  for (const Compared& one : compared) table.columns.push_back({.name = one.named.own, .format = Format{Format::percent}});
  for (std::size_t i = 1; i < compared.size(); ++i)
    table.columns.push_back({.name = fmt::format("{} less {}, points", compared[i].named.number, compared[0].named.number), .format = {Format::points}});
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
