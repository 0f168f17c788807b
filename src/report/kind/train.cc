// The view of `sharpmax train`: small transformers trained on few items and tested on many, and why they fail or hold.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/kind/rows.h"
#include "report/svg/figures.h"

namespace sharpmax::report {
namespace {

constexpr std::string_view kHard = "hard";

class TrainRows : public MeasuredRows {
 public:
  explicit TrainRows(const Json& results) : MeasuredRows(results, Of::models) {}

  double chance(const ArmTask& panel) const {
    double chance = results().at("chance").get<double>();
    for (const Json& subtask : results().at("subtasks"))
      if (text_at(subtask, "name") == panel.subtask) chance = subtask.at("chance").get<double>();
    return chance;
  }
  double trained() const { return results().at("settings").at("task").at("largest_size").get<double>(); }
  std::string task() const { return text_at(results().at("settings").at("task"), "task"); }
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
  for (const TestedRule& rule : rows.rules(panel)) {
    const Json* row = rows.row(panel, rule, n);
    if (!row || family_of(rule.text) == kHard) continue;
    if (!best || number_at(*row, "accuracy") > number_at(*best, "accuracy")) best = row;
  }
  return best;
}

const Json* own_row(const TrainRows& rows, const ArmTask& panel, double n) {
  for (const TestedRule& rule : rows.rules(panel))
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
  const ArmTask panel = rows.panel_of(row);
  view.tiles.push_back({share_of(row, "accuracy"), code(family_of(text_at(row, "normalizer"))),
                        fmt::format("arm {}, right at {} items{}", panel.name(), count(rows.sizes().back()),
                                    truth_at(row, "own") ? "" : ", the same weights"),
                        rows.look(rows.rule_of(row)).paint});
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
  Table why{.id = "why", .title = "Why",
            .columns = {{"at " + short_count(sizes.back())}, {"right", kShare}, {"95 % interval"},
                        {"dispersion", kShare}, {"ranking", kShare}, {"binding", kShare}, {"averaging", kShare},
                        {"on it", fixed_to(3)}}};
  const std::vector<TestedRule> rules = rows.rules(panel);
  Table right = right_by_size(rows, panel, rules, sizes);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    right.rows[i][0] = rules[i].short_name();
    const Json* row = rows.row(panel, rules[i], sizes.back());
    if (!row) continue;
    why.rows.push_back({rules[i].short_name(), number_at(*row, "accuracy"),
                        fmt::format("{} to {}", share_of(*row, "accuracy_low"), share_of(*row, "accuracy_high")),
                        number_at(*row, "dispersion"), number_at(*row, "ranking"), number_at(*row, "binding"), number_at(*row, "averaging"),
                        number_at(*row, "right_weight")});
  }
  auto& answers = right.rows.emplace_back(1, Cell("answers"));
  for (const double n : sizes) {
    const Json* row = rows.row(panel, rules.front(), n);
    const auto asked = row ? number_at(*row, "answers") : std::nullopt;
    answers.push_back(asked ? Cell(*asked, count(*asked)) : Cell());
  }
  return {"arm-" + as_file_name(panel.name()),
          fmt::format("Arm {}: right answers (chance {})", panel.name(), percent(rows.chance(panel))),
          "",
          {{Note{training_words(rows.results(), panel.arm)}}, {std::move(right)}, {std::move(why)}},
          /*brief=*/true,
          /*page=*/false};
}

constexpr const char* kWhyOfModelsNote =
    "dispersion: hard attention on the same weights is right and the normalizer wrong; ranking: both are wrong; binding: both are wrong "
    "though hard attention looks at the right place; averaging: the normalizer is right where hard attention is wrong; all are shares of the answers. on it: mean weight of the best head on the place of the answer.";

Section accuracy_section(const TrainRows& rows) {
  Choice choice{"Arm", Choice::Style::radio, 0, "arm", {}};
  for (const ArmTask& panel : rows.panels()) {
    Chart chart{.title = fmt::format("Accuracy against size, arm {}", panel.name()),
                .subtitle = fmt::format("Share of right answers of {}, trained on at most {} items: {}. Bands are 95\u00a0% intervals.",
                                        rows.task(), count(rows.trained()), training_words(rows.results(), panel.arm)),
                .across = counts_axis("items", "n", rows.sizes()),
                .up = share_axis("accuracy"),
                .reference = level_line("chance", rows.sizes(), rows.chance(panel))};
    std::vector<TestedRule> rules = rows.rules(panel);
    std::stable_partition(rules.begin(), rules.end(), [](const TestedRule& rule) { return family_of(rule.text) == kHard; });
    for (const TestedRule& rule : rules) chart.curves.push_back(accuracy_curve(rows, panel, rule));
    chart.figure = "accuracy" + (panel == rows.panels().front() ? "" : "-" + as_file_name(panel.name()));
    chart.id = chart.figure + "-chart";
    choice.options.push_back({panel.name(), {{std::move(chart)}}});
  }
  return {"accuracy", "Accuracy against size", "The same weights serve every normalizer of an arm. All arms are tested on the same sequences.",
          {{std::move(choice)}}};
}

Section failure_section(const TrainRows& rows) {
  Choice arms{"Arm", Choice::Style::select, 0, "", {}};
  for (const ArmTask& panel : rows.panels()) {
    Choice rules{"Normalizer", Choice::Style::select, 0, "failing", {}};
    for (const TestedRule& rule : rows.rules(panel)) {
      if (family_of(rule.text) == kHard) continue;
      const bool first = panel == rows.panels().front() && rules.options.empty();
      Bars bars = failure_bars({.title = fmt::format("Why it fails: {}, arm {}", rule.name(), panel.name()),
                                .subtitle = "Hard attention on the same weights splits the answers.",
                                .across = share_axis("share of answers"),
                                .id = "failure-bars",
                                .figure = first ? "failure" : ""},
                               rows, panel, rule, "answers");
      if (bars.bars.empty()) continue;
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
  Table table{.id = "all-heads", .title = "Heads that see everything, at the asked places",
              .columns = {{"arm", kCode}, {"normalizer", kCode}, {"n", kCount}, {"layer", kCount}, {"head", kCount},
                          {"entropy", fixed_to(3)}, {"peak weight", fixed_to(3)}, {"weight on right", fixed_to(3)},
                          {"failures fixed", kShare}},
              .tall = true,
              .filters = {"arm", "normalizer"}};
  for (const ArmTask& panel : rows.panels())
    for (const TestedRule& rule : rows.rules(panel))
      for (const double n : rows.sizes()) {
        struct Sum {
          double entropy = 0.0, peak = 0.0, right = 0.0, seeds = 0.0, with_place = 0.0, fixed = 0.0, wrong = 0.0;
        };
        std::map<std::pair<double, double>, Sum> sums;  // by layer and head
        for (const Json& row : rows.results().at("results")) {
          if (rows.panel_of(row) != panel || row.at("n") != n || rows.rule_of(row) != rule) continue;
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
                             {{"arm", kCode}, {"task", kText, "subtask"}, {{"normalizer", kCode}, [&](const Json& row) { return Cell(rows.rule_of(row).name()); }},
                              {"n", kCount}, {"seeds", kCount}, {"answers", kCount}, {"accuracy", kShare}, {"accuracy low", kShare},
                              {"accuracy high", kShare}, {"dispersion", kShare}, {"ranking", kShare}, {"binding", kShare},
                              {"averaging", kShare}, {"weight on right", fixed_to(3), "right_weight"}});
  return {"numbers", "All numbers", "", {{std::move(table)}}};
}

// Tables of normalizers per head, and what they were chosen by.
Section tables_section(const Json& results) {
  Table table{.id = "all-tables", .title = "Normalizers per head",
              .columns = {{"arm", kCode}, {"seed", kCount}, {"layer", kCount}, {"head", kCount}, {"normalizer", kCode}}};
  double largest = 0.0;
  for (const Json& one : results.at("tables")) {
    for (const Json& head : one.at("heads"))
      table.rows.push_back({text_at(one, "arm"), number_at(one, "seed"), number_at(head, "layer"), number_at(head, "head"), text_at(head, "normalizer")});
    for (const Json& size : one.at("sizes")) largest = std::max(largest, size.get<double>());
  }
  Table chosen = fields_table({.id = "all-choices", .title = "What they were chosen by"}, results.at("tables"),
                              {{"arm", kCode}, {"seed", kCount}, {"tried", kCount, "trials"}, {"answers", kCount},
                               {"own loss", fixed_to(4), "loss_own"}, {"loss", fixed_to(4)}, {"own right", kShare, "accuracy_own"},
                               {"right", kShare, "accuracy"}});
  return {"per-head", "Normalizers per head",
          fmt::format("Chosen by the loss at sizes up to {} items; the rows per-head judge them at all sizes.", count(largest)),
          {{std::move(table)}, {std::move(chosen)}}, /*brief=*/true};
}

Section training_section(const Json& results) {
  const auto last_normalizer = [](const Json& model) {
    const Json& normalizers = model.at("normalizers");
    return normalizers.empty() ? Cell() : Cell(last_of(normalizers).get<std::string>());
  };
  Table table = fields_table({.id = "all-models", .title = "Trained models"}, results.at("models"),
                             {{"arm", kCode}, {"seed", kCount}, {"file", kCode}, {"parameters", kCount}, {"steps", kCount},
                              {"places read", kCount, "tokens"}, {"last loss", fixed_to(4), "loss"},
                              {{"normalizer of the last layer", kCode}, last_normalizer}});
  Chart chart{.title = "Loss in training", .subtitle = "Mean cross-entropy of an answer, first seed of each arm.", .id = "loss-chart"};
  std::vector<std::string> drawn;
  std::vector<double> losses;
  double steps = 1.0;
  for (const Json& model : results.at("models")) {
    const std::string arm = text_at(model, "arm");
    Curve curve{.name = arm, .look = {nth_paint(drawn.size()), ""}, .marker = Marker::none, .format = fixed_to(3), .code = true};
    for (const Json& point : model.at("loss_curve"))
      if (const auto loss = number_in(point.at(1)); loss && *loss > 0.0) {
        curve.points.push_back({point.at(0).get<double>(), *loss, {}, {}});
        losses.push_back(*loss);
        steps = std::max(steps, curve.points.back().at);
      }
    if (holds(drawn, arm)) continue;
    drawn.push_back(arm);
    chart.curves.push_back(std::move(curve));
  }
  chart.across = value_axis("steps", 0.0, steps);
  chart.across.format = kCount;
  chart.up = decade_axis("loss, nats per answer", losses);
  return {"training", "How each arm was trained", "", {{std::move(chart)}, {std::move(table)}}};
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
  view.sections.back().items.push_back({Note{kWhyOfModelsNote}});
  if (!results.at("tables").empty()) view.sections.push_back(tables_section(results));
  add_sections(view, {accuracy_section(rows), failure_section(rows), heads_section(rows), numbers_section(rows), training_section(results)});
  return view;
}

}  // namespace sharpmax::report
