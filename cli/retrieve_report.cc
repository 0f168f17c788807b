// The text of a retrieval run: a verdict first, then accuracy, why, what is certain, and comparisons.
#include "cli/retrieve_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kNameWidth = 24;
constexpr std::size_t kCellWidth = 6;  // "100.0" and a space

Cell name_cell(const std::string& normalizer) {
  if (normalizer.size() <= kNameWidth) return {normalizer};
  return {normalizer.substr(0, kNameWidth - 2) + ".."};
}

Cell accuracy_cell(double accuracy) {
  constexpr double kGood = 0.95, kBad = 0.5;  // colour only
  return {percent(accuracy), accuracy >= kGood ? Ink::green : accuracy < kBad ? Ink::red : Ink::plain};
}

std::string verdict(const RetrieveView& view) {
  const std::string softmax = view.named("softmax");
  const std::int64_t least = view.sizes().front(), largest = view.sizes().back();
  const std::string& first = view.arms().front();
  const std::string& shown = softmax.empty() ? view.normalizers().front() : softmax;
  std::string text = fmt::format(
      "Trained on at most {} items, the head of arm {} names the right class in {}~% of sets of {} and {}~% "
      "of "
      "sets of {} under {}.",
      grouped(view.trained_up_to(first)), first, percent(view.accuracy(first, shown, least)), grouped(least),
      percent(view.accuracy(first, shown, largest)), grouped(largest), shown);
  std::string arm = first;
  for (const std::string& other : view.arms())
    if (view.accuracy(other, view.best_at(other, largest).front(), largest) >
        view.accuracy(arm, view.best_at(arm, largest).front(), largest))
      arm = other;
  const std::string best = view.best_at(arm, largest).front();
  text += fmt::format(" The best at {} is arm {} under {}: {}~%", grouped(largest), arm, best,
                      percent(view.accuracy(arm, best, largest)));
  if (!softmax.empty() && best != softmax)
    text += fmt::format(", where softmax with the same weights gets {}~%",
                        percent(view.accuracy(arm, softmax, largest)));
  text += fmt::format(" and the top score is on the right item in {}~% of sets.",
                      percent(view.value(arm, best, largest, &RetrievalSummary::ranked_first)));
  text = wrapped(text);
  std::replace(text.begin(), text.end(), '~', ' ');  // a number and its sign stay on one line
  return text + "\n";
}

std::string accuracy_table(const RetrieveView& view, const std::string& arm, bool colour) {
  std::size_t width = 0;
  for (const std::string& text : view.normalizers()) width = std::max(width, name_cell(text).text.size());
  const auto sizes = thinned(view.sizes(), (kScreenWidth - width) / kCellWidth);
  std::vector<Align> columns(sizes.size() + 1, Align::right);
  columns[0] = Align::left;
  Table table(columns, 1);
  std::vector<Cell> head = {{"items", Ink::bold}};
  for (const std::int64_t n : sizes)
    head.push_back({fmt::format("{:>{}}", short_count(n), kCellWidth - 1), Ink::bold});
  table.add(head);
  for (const std::string& text : view.normalizers()) {
    std::vector<Cell> row = {name_cell(text)};
    for (const std::int64_t n : sizes) row.push_back(accuracy_cell(view.accuracy(arm, text, n)));
    table.add(row);
  }
  return inked(fmt::format("Arm {}: right answers in % (chance {})", arm, percent(view.chance(arm))),
               Ink::bold, colour) +
         "\n" + table.text(colour);
}

// Softmax and the best rules: more would hide the point.
std::vector<std::string> worth_explaining(const RetrieveView& view, const std::string& arm, std::int64_t n) {
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown;
  if (const std::string softmax = view.named("softmax"); !softmax.empty()) shown.push_back(softmax);
  for (const std::string& text : view.best_at(arm, n))
    if (shown.size() < kShown && std::find(shown.begin(), shown.end(), text) == shown.end())
      shown.push_back(text);
  return shown;
}

std::string why_table(const RetrieveView& view, const std::string& arm, bool colour) {
  Table table({Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
               Align::right, Align::right, Align::right, Align::right},
              1);
  std::vector<Cell> head;
  for (const char* word :
       {"why", "items", "right", "first", "hard", "lost", "saved", "nats", "peak", "on it"})
    head.push_back({word, Ink::bold});
  table.add(head);
  const auto& sizes = view.sizes();
  for (std::size_t i = sizes.size() - std::min<std::size_t>(sizes.size(), 2); i < sizes.size(); ++i) {
    const std::int64_t n = sizes[i];
    for (const std::string& text : worth_explaining(view, arm, n)) {
      using Number = double RetrievalSummary::*;
      const auto share = [&](Number what) { return Cell{percent(view.value(arm, text, n, what))}; };
      const auto number = [&](Number what) { return Cell{short_number(view.value(arm, text, n, what))}; };
      table.add({name_cell(text),
                 {short_count(n)},
                 accuracy_cell(view.accuracy(arm, text, n)),
                 share(&RetrievalSummary::ranked_first),
                 share(&RetrievalSummary::hard_accuracy),
                 share(&RetrievalSummary::hard_right_rule_wrong),
                 share(&RetrievalSummary::hard_wrong_rule_right),
                 number(&RetrievalSummary::entropy),
                 number(&RetrievalSummary::peak_weight),
                 number(&RetrievalSummary::right_weight)});
    }
  }
  return table.text(colour);
}

constexpr const char* kLegend =
    "first: sets whose top score is on the right item; hard: right answers of hard attention over the same "
    "scores; lost: hard is right and the rule wrong (dispersion); saved: the rule is right and hard wrong "
    "(averaging helps). Shares in %. nats: mean entropy; peak: mean largest weight; on it: mean weight on "
    "the "
    "right item.";

std::string size_from_log10(double log10) {
  constexpr double kWritten = 15.0;
  if (std::isnan(log10)) return "no known number of";
  if (log10 > kWritten) return fmt::format("about 10^{:.0f}", log10);
  return grouped(static_cast<long long>(std::ceil(std::pow(10.0, log10))));
}

std::string certificate_line(const RetrieveView& view, const RetrievalHead& head) {
  std::int64_t rows = 0, violations = 0;
  std::set<std::int64_t> counted;
  for (const RetrievalMeasurement& result : view.result().results) {
    if (result.arm != head.arm || result.seed != head.seed) continue;
    rows += result.sets;
    if (counted.insert(result.n).second) violations += result.bound_violations;
  }
  return wrapped(fmt::format("Arm {}, seed {}: scores of this head spread at most {} over all inputs ({} is "
                             "attained); from {} items on no input can get half of the weight under softmax; "
                             "{} of {} measured rows break the bound.",
                             head.arm, head.seed, short_number(head.spread.certified), short_number(head.spread.attained),
                             size_from_log10(head.half_lost_from_log10), violations, grouped(rows)),
                 kScreenWidth, 2) +
         "\n";
}

// All heads, or the first of each arm if there are many.
std::string certificates(const RetrieveView& view, bool colour) {
  constexpr std::size_t kMany = 4;
  const std::vector<RetrievalHead>& heads = view.result().heads;
  std::string text = inked("What is certain", Ink::bold, colour) + "\n";
  std::size_t left_out = 0;
  std::set<std::string> arms;
  for (const RetrievalHead& head : heads) {
    const bool first = arms.insert(head.arm).second;
    if (heads.size() <= kMany || first)
      text += certificate_line(view, head);
    else
      ++left_out;
  }
  if (left_out > 0) text += fmt::format("{} more heads are in the JSON.\n", left_out);
  return text;
}

// Accuracy; NaN if the paper's table has none.
double published(const RetrieveView& view, const char* normalizer, std::int64_t n) {
  for (const PublishedAccuracy& entry : view.result().published)
    if (entry.normalizer == normalizer && entry.n == n) return entry.accuracy;
  return NAN;
}

std::vector<Cell> bold(std::initializer_list<const char*> words) {
  std::vector<Cell> row;
  for (const char* word : words) row.push_back({word, Ink::bold});
  return row;
}

// Paper A's table beside ours; empty without its arm, its normalizers or its sizes.
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
    const RetrievalComparison* test = view.comparison("paper", adaptive, n);
    tested = tested || test != nullptr;
    const double ours = view.accuracy("paper", softmax, n), better = view.accuracy("paper", adaptive, n);
    table.add({{grouped(n)},
               {percent(ours)},
               {percent(theirs), Ink::dim},
               {percent(better)},
               {percent(published(view, "adaptive", n)), Ink::dim},
               {fmt::format("{:+.1f}", 100.0 * (better - ours))},
               {test && std::isfinite(test->t) ? fmt::format("{:.2f}", test->t) : "-"},
               {test && std::isfinite(test->p) ? fmt::format("{:.1g}", test->p) : "-"}});
  }
  if (!any) return "";
  std::string text =
      inked("The paper's table beside ours (arm paper, right answers in %)", Ink::bold, colour) + "\n" +
      table.text(colour);
  if (tested) text += "t, p: paired t-test of adaptive against softmax over the seeds.\n";
  return text;
}

// The paper's or our training x softmax or entropy_target, by size; empty unless all four are there.
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
    row.push_back({percent(view.value("sharp", target, n, &RetrievalSummary::ranked_first)), Ink::dim});
    table.add(row);
  }
  return inked(fmt::format("Recipe and normalizer: right answers in %, target is {}", target), Ink::bold,
               colour) +
         "\n" + table.text(colour);
}

}  // namespace

std::string retrieval_report(const RetrievalResult& result, bool colour) {
  const RetrieveView view(result);
  std::string text = verdict(view);
  for (const std::string& arm : view.arms())
    text += fmt::format("\n{}\n{}", accuracy_table(view, arm, colour), why_table(view, arm, colour));
  text += inked(wrapped(kLegend), Ink::dim, colour) + "\n\n" + certificates(view, colour);
  for (const std::string& block : {published_comparison(view, colour), two_by_two(view, colour)})
    if (!block.empty()) text += fmt::format("\n{}", block);
  return text;
}

}  // namespace sharpmax::cli
