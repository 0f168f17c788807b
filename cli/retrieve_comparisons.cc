#include "cli/retrieve_comparisons.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/table.h"

namespace sharpmax::cli {
namespace {

// Accuracy; NaN if the paper's table has none.
double published(const RetrieveView& view, const char* normalizer, std::int64_t n) {
  for (const Json& entry : view.json()["published"])
    if (entry["normalizer"] == normalizer && entry["n"] == n) return entry["accuracy"].get<double>();
  return NAN;
}

std::string number_or_dash(const Json& value, const char* format) {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "-";
}

std::vector<Cell> bold(std::initializer_list<const char*> words) {
  std::vector<Cell> row;
  for (const char* word : words) row.push_back({word, Ink::bold});
  return row;
}

}  // namespace

std::string published_comparison(const RetrieveView& view, bool colour) {
  const std::string softmax = view.named("softmax"), adaptive = view.named("adaptive");
  if (!view.has_arm("paper") || softmax.empty() || adaptive.empty()) return "";
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::right});
  table.add(bold({"items", "softmax", "paper", "adaptive", "paper", "gain", "t", "p"}));
  bool any = false, tested = false;
  for (const std::int64_t n : view.sizes()) {
    const double theirs = published(view, "softmax", n);
    if (std::isnan(theirs)) continue;
    any = true;
    const Json* test = view.test("paper", adaptive, n);
    tested = tested || test != nullptr;
    const double ours = view.accuracy("paper", softmax, n), better = view.accuracy("paper", adaptive, n);
    table.add({{grouped(n)},
               {percent(ours)},
               {percent(theirs), Ink::dim},
               {percent(better)},
               {percent(published(view, "adaptive", n)), Ink::dim},
               {fmt::format("{:+.1f}", 100.0 * (better - ours))},
               {test ? number_or_dash((*test)["t"], "{:.2f}") : "-"},
               {test ? number_or_dash((*test)["p"], "{:.1g}") : "-"}});
  }
  if (!any) return "";
  std::string text =
      inked("The paper's table beside ours (arm paper, right answers in %)", Ink::bold, colour) + "\n" +
      table.text(colour);
  if (tested) text += "t, p: paired t-test of adaptive against softmax over the seeds.\n";
  return text;
}

std::string two_by_two(const RetrieveView& view, bool colour) {
  const std::string softmax = view.named("softmax"), target = view.named("entropy_target");
  if (!view.has_arm("paper") || !view.has_arm("sharp") || softmax.empty() || target.empty()) return "";
  Table table({Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  table.add(bold({"training:", "paper", "paper", "sharp", "sharp", "sharp"}));
  table.add(bold({"rule:", "softmax", "target", "softmax", "target", "ranked first"}));
  for (const std::int64_t n : view.sizes()) {
    std::vector<Cell> row = {{grouped(n)}};
    for (const char* arm : {"paper", "sharp"})
      for (const std::string& rule : {softmax, target}) row.push_back({percent(view.accuracy(arm, rule, n))});
    row.push_back({percent(view.value("sharp", target, n, "ranked_first")), Ink::dim});
    table.add(row);
  }
  return inked(fmt::format("Recipe and normalizer: right answers in %, target is {}", target), Ink::bold,
               colour) +
         "\n" + table.text(colour);
}

}  // namespace sharpmax::cli
