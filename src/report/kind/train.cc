// The view of `sharpmax train`: small transformers trained on few items and tested on many, and why they fail or hold.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/kind/kinds.h"
#include "report/kind/reading.h"
#include "report/svg/figures.h"
#include "report/view/looks.h"

namespace sharpmax::report {

View train_view(const Json& results);

namespace {

constexpr Format kShare{Format::percent}, kCount{Format::count};
constexpr std::string_view kHard = "hard";

std::string share_of(const Json& row, const char* name) { return formatted(kShare, number_at(row, name)); }

// A normalizer as it was tested; that of the training has values of its own, so it is told from its namesake.
struct Rule {
  std::string text;
  bool own = false;
  bool operator==(const Rule&) const = default;
  std::string name() const { return text + (own ? " (own)" : ""); }
  std::string short_name() const { return family_of(text) + (own ? " (own)" : ""); }
};

Rule rule_of(const Json& row) { return {text_at(row, "normalizer"), truth_at(row, "own")}; }

// One arm, and of a mixture one of its tasks.
struct ArmTask {
  std::string arm, subtask;
  bool operator==(const ArmTask&) const = default;
  std::string name() const { return subtask.empty() ? arm : arm + ", " + subtask; }
};

ArmTask panel_of(const Json& row) { return {text_at(row, "arm"), text_at(row, "subtask")}; }

class TrainRows {
 public:
  explicit TrainRows(const Json& results) : results_(results) {
    for (const Json& row : results.at("summary")) {
      add_once(panels_, panel_of(row));
      add_once(texts_, text_at(row, "normalizer"));
      add_once(sizes_, size_at(row, "n"));
    }
    std::sort(sizes_.begin(), sizes_.end());
    looks_ = looks_of(texts_);
  }

  const Json& results() const { return results_; }
  const std::vector<ArmTask>& panels() const { return panels_; }
  const std::vector<double>& sizes() const { return sizes_; }
  double chance(const ArmTask& panel) const {
    double chance = results_.at("chance").get<double>();
    for (const Json& subtask : results_.at("subtasks"))
      if (text_at(subtask, "name") == panel.subtask) chance = subtask.at("chance").get<double>();
    return chance;
  }
  double trained() const { return results_.at("settings").at("task").at("largest_size").get<double>(); }
  std::string task() const { return text_at(results_.at("settings").at("task"), "task"); }

  std::vector<Rule> rules(const ArmTask& panel) const {
    std::vector<Rule> found;
    for (const Json& row : results_.at("summary"))
      if (panel_of(row) == panel) add_once(found, rule_of(row));
    return found;
  }
  const Json* row(const ArmTask& panel, const Rule& rule, double n) const {
    for (const Json& row : results_.at("summary"))
      if (row.at("n") == n && panel_of(row) == panel && rule_of(row) == rule) return &row;
    return nullptr;
  }
  // Own normalizers are dashed, since a member of the family may be drawn beside them.
  Look look(const Rule& rule) const {
    const auto found = std::find(texts_.begin(), texts_.end(), rule.text);
    Look look = looks_[static_cast<std::size_t>(found - texts_.begin())];
    if (rule.own && family_of(rule.text) != "softmax") look.dash = kDashed;
    return look;
  }

 private:
  const Json& results_;
  std::vector<ArmTask> panels_;
  std::vector<std::string> texts_;
  std::vector<double> sizes_;
  std::vector<Look> looks_;
};

// Of one arm: how many models, how long, how well.
std::string training_words(const Json& results, const std::string& arm) {
  double models = 0.0, steps = 0.0, loss = 0.0;
  for (const Json& model : results.at("models")) {
    if (model.at("arm") != arm) continue;
    models += 1.0;
    steps = model.at("steps").get<double>();
    loss += number_at(model, "loss").value_or(0.0);
  }
  if (steps == 0.0) return fmt::format("no training, {}", plural(models, "seed"));
  return fmt::format("{} of training, last loss {}, {}", plural(steps, "step"), decimal(models > 0.0 ? loss / models : 0.0),
                     plural(models, "seed"));
}

// The best at the largest size but hard attention, which is a ceiling to compare with.
const Json* best_row(const TrainRows& rows, const ArmTask& panel, double n) {
  const Json* best = nullptr;
  for (const Rule& rule : rows.rules(panel)) {
    const Json* row = rows.row(panel, rule, n);
    if (!row || family_of(rule.text) == kHard) continue;
    if (!best || number_at(*row, "accuracy") > number_at(*best, "accuracy")) best = row;
  }
  return best;
}

const Json* own_row(const TrainRows& rows, const ArmTask& panel, double n) {
  for (const Rule& rule : rows.rules(panel))
    if (rule.own) return rows.row(panel, rule, n);
  return nullptr;
}

// One sentence on an arm at the largest size, and one on the best normalizer for the same weights.
void add_panel_verdict(View& view, const TrainRows& rows, const ArmTask& panel) {
  const double n = rows.sizes().back();
  const Json *own = own_row(rows, panel, n), *best = best_row(rows, panel, n);
  if (!own || !best) return;
  Words words = fmt::format("Trained on at most {} of {} ({}), arm ", plural(rows.trained(), "item"), rows.task(),
                            training_words(rows.results(), panel.arm));
  if (!panel.subtask.empty() && panel != rows.panels().front()) words = fmt::format("On {}, arm ", panel.subtask);
  words << code(panel.arm)
        << fmt::format(" answers {} {}at {} items; guessing gives {}.", share_of(*own, "accuracy"),
                       panel.subtask.empty() || panel != rows.panels().front() ? "" : "of " + panel.subtask + " ", count(n),
                       percent(rows.chance(panel)));
  if (best != own && number_at(*best, "accuracy_low") > number_at(*own, "accuracy_high"))
    words << std::string(" The same weights under ") << code(family_of(text_at(*best, "normalizer")))
          << fmt::format(" answer {}.", share_of(*best, "accuracy"));
  else
    words << std::string(" No other normalizer on the same weights is surely better.");
  view.verdict.push_back(std::move(words));
}

void add_tile(View& view, const TrainRows& rows, const Json& row) {
  const ArmTask panel = panel_of(row);
  view.tiles.push_back({share_of(row, "accuracy"), code(family_of(text_at(row, "normalizer"))),
                        fmt::format("arm {}, right at {} items{}", panel.name(), count(rows.sizes().back()),
                                    truth_at(row, "own") ? "" : ", the same weights"),
                        rows.look(rule_of(row)).paint});
}

void add_verdict(View& view, const TrainRows& rows) {
  const ArmTask& first = rows.panels().front();
  const double n = rows.sizes().back();
  for (const ArmTask& panel : rows.panels())
    if (panel.arm == first.arm) add_panel_verdict(view, rows, panel);
  const Json *own = own_row(rows, first, n), *best = best_row(rows, first, n), *leader = own;
  if (!own || !best) return;
  add_tile(view, rows, *own);
  if (best != own) add_tile(view, rows, *best);
  for (const ArmTask& other : rows.panels())
    if (const Json* row = own_row(rows, other, n);
        row && other.subtask == first.subtask && number_at(*row, "accuracy") > number_at(*leader, "accuracy"))
      leader = row;
  if (leader == own) return;
  Words trained = "Trained as arm ";
  trained << code(text_at(*leader, "arm")) << fmt::format(", a model answers {} there without a change at test.", share_of(*leader, "accuracy"));
  view.verdict.push_back(std::move(trained));
  add_tile(view, rows, *leader);
}

// For a terminal: right answers by size, and why at the largest.
Section arm_section(const TrainRows& rows, const ArmTask& panel) {
  constexpr std::size_t kMostSizes = 7;
  std::vector<double> sizes = rows.sizes();
  while (sizes.size() > kMostSizes) sizes.erase(sizes.begin() + 1);
  Table right{.id = "right", .title = "Right answers", .columns = {{.name = "items"}}};
  for (const double n : sizes) right.columns.push_back({.name = short_count(n), .format = kShare});
  Table why{.id = "why",
            .title = "Why",
            .columns = {{.name = "at " + short_count(sizes.back())}, {.name = "right", .format = kShare}, {.name = "95 % interval"},
                        {.name = "dispersion", .format = kShare}, {.name = "ranking", .format = kShare}, {.name = "binding", .format = kShare},
                        {.name = "averaging", .format = kShare}, {.name = "on it", .format = fixed_to(3)}}};
  std::vector<Cell> answers{"answers"};
  for (const double n : sizes) {
    const Json* row = rows.row(panel, rows.rules(panel).front(), n);
    const auto asked = row ? number_at(*row, "answers") : std::nullopt;
    answers.push_back(asked ? Cell(*asked, count(*asked)) : Cell());
  }
  for (const Rule& rule : rows.rules(panel)) {
    std::vector<Cell> cells{rule.short_name()};
    for (const double n : sizes) {
      const Json* row = rows.row(panel, rule, n);
      cells.push_back(row ? Cell(number_at(*row, "accuracy")) : Cell());
    }
    right.rows.push_back(std::move(cells));
    const Json* row = rows.row(panel, rule, sizes.back());
    if (!row) continue;
    why.rows.push_back({rule.short_name(), number_at(*row, "accuracy"),
                        fmt::format("{} to {}", share_of(*row, "accuracy_low"), share_of(*row, "accuracy_high")),
                        number_at(*row, "dispersion"), number_at(*row, "ranking"), number_at(*row, "binding"), number_at(*row, "averaging"),
                        number_at(*row, "right_weight")});
  }
  right.rows.push_back(std::move(answers));
  return {"arm-" + as_file_name(panel.name()),
          fmt::format("Arm {}: right answers (chance {})", panel.name(), percent(rows.chance(panel))),
          "",
          {{Note{training_words(rows.results(), panel.arm)}}, {std::move(right)}, {std::move(why)}},
          /*brief=*/true,
          /*page=*/false};
}

constexpr const char* kWhyNote =
    "dispersion: hard attention on the same weights is right and the normalizer wrong; ranking: both are wrong; binding: both are wrong "
    "though hard attention looks at the right place; averaging: the normalizer is right where hard attention is wrong; all are shares of the answers. on it: mean weight of the best head on the place of the answer.";

Curve accuracy_curve(const TrainRows& rows, const ArmTask& panel, const Rule& rule) {
  Curve curve{.name = rule.name(), .look = rows.look(rule), .format = kShare, .code = true};
  for (const double n : rows.sizes())
    if (const Json* row = rows.row(panel, rule, n))
      if (const auto value = number_at(*row, "accuracy"))
        curve.points.push_back({n, *value, number_at(*row, "accuracy_low"), number_at(*row, "accuracy_high")});
  return curve;
}

Section accuracy_section(const TrainRows& rows) {
  Choice choice{"Arm", Choice::Style::radio, 0, "arm", {}};
  for (const ArmTask& panel : rows.panels()) {
    Chart chart{.title = fmt::format("Accuracy against size, arm {}", panel.name()),
                .subtitle = fmt::format("Share of right answers of {}, trained on at most {} items: {}. Bands are 95\u00a0% intervals.",
                                        rows.task(), count(rows.trained()), training_words(rows.results(), panel.arm)),
                .across = counts_axis("items", "n", rows.sizes()),
                .up = share_axis("accuracy"),
                .reference = Reference{.name = "chance"}};
    for (const double n : rows.sizes()) chart.reference->points.push_back({n, rows.chance(panel)});
    std::vector<Rule> rules = rows.rules(panel);
    std::stable_partition(rules.begin(), rules.end(), [](const Rule& rule) { return family_of(rule.text) == kHard; });
    for (const Rule& rule : rules) chart.curves.push_back(accuracy_curve(rows, panel, rule));
    chart.figure = "accuracy" + (panel == rows.panels().front() ? "" : "-" + as_file_name(panel.name()));
    chart.id = chart.figure + "-chart";
    choice.options.push_back({panel.name(), {{std::move(chart)}}});
  }
  return {"accuracy", "Accuracy against size", "The same weights serve every normalizer of an arm. All arms are tested on the same sequences.",
          {{std::move(choice)}}};
}

Bars failure_bars(const TrainRows& rows, const ArmTask& panel, const Rule& rule) {
  std::map<double, Outcomes> by_size;
  for (const Json& row : rows.results().at("results"))
    if (panel_of(row) == panel && rule_of(row) == rule) by_size[row.at("n").get<double>()].add(row, "answers");
  Bars bars{.title = fmt::format("Why it fails: {}, arm {}", rule.name(), panel.name()),
            .subtitle = "Hard attention on the same weights splits the answers.",
            .across = share_axis("share of answers")};
  add_outcomes(bars, by_size);
  return bars;
}

Section failure_section(const TrainRows& rows) {
  Choice arms{"Arm", Choice::Style::select, 0, "", {}};
  for (const ArmTask& panel : rows.panels()) {
    Choice rules{"Normalizer", Choice::Style::select, 0, "failing", {}};
    for (const Rule& rule : rows.rules(panel)) {
      if (family_of(rule.text) == kHard) continue;
      Bars bars = failure_bars(rows, panel, rule);
      if (bars.bars.empty()) continue;
      const bool first = panel == rows.panels().front() && rules.options.empty();
      bars.id = "failure-bars";
      bars.figure = first ? "failure" : "";
      rules.options.push_back({rule.name(), {{std::move(bars), first ? 0 : 2, "why other arms and normalizers fail"}}});
    }
    if (!rules.options.empty()) arms.options.push_back({panel.name(), {{std::move(rules)}}});
  }
  return {"failure", "Why it fails",
          "Hard attention puts all weight on the largest score. Where it is right and the normalizer is wrong, weight was dispersed. "
          "Where both are wrong, the scores rank a wrong place first, or the place is found and what stands there is read wrongly: binding. "
          "Where only the normalizer is right, averaging helped.",
          {{std::move(arms)}}};
}

// Means over the seeds of one arm, normalizer, size, layer and head.
Section heads_section(const TrainRows& rows) {
  Table table{.id = "all-heads",
              .title = "Heads that see everything, at the asked places",
              .columns = {{.name = "arm", .code = true}, {.name = "normalizer", .code = true}, {.name = "n", .format = kCount},
                          {.name = "layer", .format = kCount}, {.name = "head", .format = kCount}, {.name = "entropy", .format = fixed_to(3)},
                          {.name = "peak weight", .format = fixed_to(3)}, {.name = "weight on right", .format = fixed_to(3)},
                          {.name = "failures fixed", .format = kShare}},
              .tall = true,
              .filters = {"arm", "normalizer"}};
  for (const ArmTask& panel : rows.panels())
    for (const Rule& rule : rows.rules(panel))
      for (const double n : rows.sizes()) {
        struct Sum {
          double entropy = 0.0, peak = 0.0, right = 0.0, seeds = 0.0, with_place = 0.0, fixed = 0.0, wrong = 0.0;
        };
        std::map<std::pair<double, double>, Sum> sums;  // by layer and head
        for (const Json& row : rows.results().at("results")) {
          if (panel_of(row) != panel || row.at("n") != n || rule_of(row) != rule) continue;
          for (const Json& head : row.at("heads")) {
            Sum& sum = sums[{head.at("layer").get<double>(), head.at("head").get<double>()}];
            sum.entropy += number_at(head, "entropy").value_or(0.0);
            sum.peak += number_at(head, "peak_weight").value_or(0.0);
            sum.seeds += 1.0;
            if (const auto right = number_at(head, "right_weight")) sum.right += *right, sum.with_place += 1.0;
            if (!head.contains("fixed")) continue;  // measured under the normalizer of the training alone
            if (const auto fixed = number_at(head, "fixed"))
              sum.fixed += *fixed, sum.wrong += row.at("hard_right_rule_wrong").get<double>() + row.at("hard_wrong_rule_wrong").get<double>();
          }
        }
        for (const auto& [at, sum] : sums)
          table.rows.push_back({panel.name(), rule.name(), n, at.first, at.second, sum.entropy / sum.seeds, sum.peak / sum.seeds,
                                sum.with_place > 0.0 ? Cell(sum.right / sum.with_place) : Cell(),
                                sum.wrong > 0.0 ? Cell(sum.fixed / sum.wrong) : Cell()});
      }
  return {"heads", "By layer and head", "Entropy in nats, the largest weight, and the weight on the place of the answer; means over questions and seeds. "
          "Failures fixed: share of the wrong answers that hard attention in this head alone makes right.",
          {{std::move(table), 1, "numbers by layer and head"}}};
}

Section numbers_section(const TrainRows& rows) {
  const Json& summary = rows.results().at("summary");
  Table table = fields_table({.id = "all-rows", .title = "All numbers", .tall = true}, summary,
                             {{"arm", {.name = "arm", .code = true}}, {"subtask", {.name = "task"}}, {"normalizer", {.name = "normalizer", .code = true}},
                              {"n", {.name = "n", .format = kCount}}, {"seeds", {.name = "seeds", .format = kCount}},
                              {"answers", {.name = "answers", .format = kCount}}, {"accuracy", {.name = "accuracy", .format = kShare}},
                              {"accuracy_low", {.name = "accuracy low", .format = kShare}}, {"accuracy_high", {.name = "accuracy high", .format = kShare}},
                              {"dispersion", {.name = "dispersion", .format = kShare}}, {"ranking", {.name = "ranking", .format = kShare}},
                              {"binding", {.name = "binding", .format = kShare}},
                              {"averaging", {.name = "averaging", .format = kShare}}, {"right_weight", {.name = "weight on right", .format = fixed_to(3)}}});
  for (std::size_t i = 0; i < summary.size(); ++i) table.rows[i][2] = rule_of(summary[i]).name();
  return {"numbers", "All numbers", "", {{std::move(table)}}};
}

}  // namespace

View train_view(const Json& results) {
  View view = begun_view(results);
  view.kind = "small transformers";
  view.title = "Small transformers";
  const TrainRows rows(results);
  view.label = "training, " + rows.task();
  for (const Json& row : results.at("results")) require_texts(row, {"arm"}), static_cast<void>(size_at(row, "n"));
  if (rows.panels().empty()) {
    view.verdict.push_back("These results hold no measurement.");
    return view;
  }
  view.title = fmt::format("{}: trained on at most {} items, tested on up to {}", rows.task(), count(rows.trained()), count(rows.sizes().back()));
  add_verdict(view, rows);
  for (const ArmTask& panel : rows.panels()) view.sections.push_back(arm_section(rows, panel));
  view.sections.back().items.push_back({Note{kWhyNote}});
  if (!results.at("tables").empty()) view.sections.push_back(tables_section(results));
  for (Section& section : std::vector<Section>{accuracy_section(rows), failure_section(rows), heads_section(rows), numbers_section(rows),
                                               training_section(results)})
    view.sections.push_back(std::move(section));
  return view;
}

}  // namespace sharpmax::report
