// The view of `sharpmax retrieve`: a head trained on small sets, tested on large ones, and why it fails or holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/kind/rows.h"
#include "report/svg/figures.h"

namespace sharpmax::report {
namespace {

// What the first screen tells of.
struct Story {
  std::string arm, plain;
  double smallest = 0.0, largest = 0.0;
  const Json *before = nullptr, *after = nullptr;  // softmax of the paper's training
  const Json *best = nullptr, *best_plain = nullptr;

  explicit Story(const RetrievalRows& rows)
      : arm(rows.paper_arm().value_or(rows.arms()[0])),
        plain(rows.member("softmax").value_or(rows.normalizers()[0])),
        smallest(rows.sizes().front()),
        largest(rows.sizes().back()),
        before(rows.row(arm, plain, smallest)),
        after(rows.row(arm, plain, largest)) {
    // Hard attention is the yardstick, not a rule that one could train with.
    for (const Json& row : rows.results().at("summary")) {
      if (row.at("n") != largest) continue;
      const bool hard = family_of(text_at(row, "normalizer")) == "hard";
      if (!best || (!hard && (family_of(text_at(*best, "normalizer")) == "hard" || number_at(row, "accuracy") > number_at(*best, "accuracy"))))
        best = &row;
    }
    if (best) best_plain = rows.row(text_at(*best, "arm"), plain, largest);
  }
};

// A winner by less than its own interval is named with those it did not beat.
void add_as_good(View& view, const RetrievalRows& rows, const Json& best) {
  std::vector<const Json*> others;
  for (const Json& row : rows.results().at("summary"))
    if (&row != &best && row.at("n") == best.at("n") && row.at("arm") == best.at("arm") &&
        number_at(row, "accuracy_high") >= number_at(best, "accuracy_low"))
      others.push_back(&row);
  if (others.empty()) return;
  std::stable_sort(others.begin(), others.end(),
                   [](const Json* a, const Json* b) { return number_at(*a, "accuracy") > number_at(*b, "accuracy"); });
  std::vector<Words> names;
  for (const Json* other : others) names.push_back(Words(code(text_at(*other, "normalizer"))) << " " + share_of(*other, "accuracy"));
  Words words = "Not told apart from it by the intervals: ";
  list_names(words, names, 3);
  view.verdict.push_back(std::move(words));
}

void add_retrieval_verdict(View& view, const RetrievalRows& rows, const Story& story) {
  if (story.before && story.after) {
    Words words = fmt::format("Under {} training, ", story.arm);
    words << code(story.plain)
          << fmt::format(" names the right class in {} of sets of {} items and in {} of sets of {}; guessing gives {}.",
                         share_of(*story.before, "accuracy"), count(story.smallest), share_of(*story.after, "accuracy"),
                         count(story.largest), percent(rows.chance()));
    view.verdict.push_back(std::move(words));
  }
  if (!story.best) return;
  if (story.best == story.after) return view.verdict.push_back("No other normalizer did better at that size.");
  Words words = fmt::format("Best at {}: {} training with ", count(story.largest), text_at(*story.best, "arm"));
  words << code(text_at(*story.best, "normalizer")) << ", right in " + share_of(*story.best, "accuracy");
  if (story.best_plain && story.best_plain != story.best)
    words << std::string("; ") << code(story.plain) << " on the same weights: " + share_of(*story.best_plain, "accuracy");
  words << fmt::format(". The top score is on the right item in {} of its sets.", share_of(*story.best, "ranked_first"));
  view.verdict.push_back(std::move(words));
  add_as_good(view, rows, *story.best);
}

void add_retrieval_tiles(View& view, const RetrievalRows& rows, const Story& story) {
  const std::string at = fmt::format("at {} items", count(story.largest));
  const auto right = [&](const Json& row, const char* note = "") {
    const std::string name = text_at(row, "normalizer");
    view.tiles.push_back({share_of(row, "accuracy"), code(name),
                          fmt::format("{} training, right {}{}", text_at(row, "arm"), at, note), rows.look(name).paint});
  };
  const bool two = story.best_plain && story.best_plain != story.best;
  if (story.after) right(*story.after);
  if (two && story.best_plain != story.after) right(*story.best_plain);
  if (story.best && story.best != story.after) right(*story.best, two ? ", the same weights" : "");
  if (story.after)
    view.tiles.push_back({share_of(*story.after, "ranked_first"), "top score on the right item",
                          fmt::format("{} training, {}", story.arm, at), Paint::grey});
  for (const Json& head : rows.results().at("heads"))
    if (head.at("arm") == story.arm) {
      view.tiles.push_back({formatted(kPower, number_at(head, "half_lost_from_log10")),
                            "items: from here on no input gets half of softmax’s weight",
                            fmt::format("{} training, seed {}, proved", story.arm, count(head.at("seed").get<double>())), Paint::grey});
      break;
    }
}

Section two_by_two_section(const RetrievalRows& rows) {
  Section section{"two-by-two", "Training or normalizer?",
                  "A head can fail because it ranks the items wrongly, which training fixes, or because its weights spread out, which "
                  "the normalizer fixes. The two trainings under the two normalizers, the same test sets for all four.",
                  {}, /*brief=*/true};
  Chart chart = two_by_two_chart(rows);
  if (chart.curves.empty()) return section;
  chart.id = chart.figure = "two-by-two";
  const std::string arms[] = {*rows.paper_arm(), *rows.our_arm()}, rules[] = {*rows.member("softmax"), *rows.member("entropy_target")};
  Table table{.id = "all-four", .title = "Right, by size", .columns = {{"items", kCount}}, .sortable = false};
  for (const std::string& arm : arms)
    for (const std::string& rule : rules)
      table.columns.push_back({fmt::format("{}, {}", arm, family_of(rule)), kShare});
  for (const double n : rows.sizes()) {
    std::vector<Cell> cells{n};
    for (const std::string& arm : arms)
      for (const std::string& rule : rules) cells.push_back(accuracy_cell(rows.row(arm, rule, n)));
    table.rows.push_back(std::move(cells));
  }
  section.items = {{std::move(chart)}, {std::move(table)}};
  return section;
}

// One option per arm; those of accuracy and entropy change together.
Section curves_section(const RetrievalRows& rows, bool accuracy) {
  Choice choice{"Training", Choice::Style::radio, 0, "training", {}};
  for (const std::string& arm : rows.arms()) {
    Chart chart = accuracy ? accuracy_chart(rows, arm) : entropy_chart(rows, arm);
    chart.figure = (accuracy ? "accuracy" : "entropy") + (arm == rows.arms()[0] ? "" : "-" + as_file_name(arm));
    chart.id = chart.figure + "-chart";
    choice.options.push_back({arm, {{std::move(chart)}}});
  }
  if (accuracy)
    return {"accuracy", "Accuracy against size",
            "How often the head names the class of the largest of n items. Bands are 95\u00a0% intervals. The same weights serve every "
            "normalizer.",
            {{std::move(choice)}}};
  return {"entropy", "Entropy against size",
          "The mean entropy of the weights, in nats: 0 is all weight on one item, ln n an equal share for each. Training and "
          "normalizers as chosen above.",
          {{std::move(choice)}}};
}

// Of the story's arm and normalizer a figure; every other pair may be left out.
Section failure_section(const RetrievalRows& rows, const Story& story) {
  Choice arms{"Training", Choice::Style::select, 0, "", {}};
  for (const std::string& arm : rows.arms()) {
    Choice rules{"Normalizer", Choice::Style::select, 0, "failing", {}};
    for (const std::string& name : rows.normalizers()) {
      const bool told = arm == story.arm && name == story.plain;
      Bars bars = failure_bars({.title = fmt::format("Why it fails: {}, {} training", name, arm),
                                .subtitle = "Hard attention puts all weight on the largest score. Where it is right and the normalizer is wrong, "
                                            "weight was dispersed; where both are wrong, the scores rank a wrong item first.",
                                .across = share_axis("share of sets"),
                                .id = "failure-bars",
                                .figure = told ? "failure" : ""},
                               rows, arm, name, "sets");
      if (bars.bars.empty()) continue;
      if (name == story.plain) rules.shown = rules.options.size();
      rules.options.push_back({name, {{std::move(bars), told ? 0 : 2, "why other trainings and normalizers fail"}}});
    }
    if (rules.options.empty()) continue;
    if (arm == story.arm) arms.shown = arms.options.size();
    arms.options.push_back({arm, {{std::move(rules)}}});
  }
  return {"failure", "Why it fails",
          "Hard attention puts all weight on the largest score. Where it is right and the normalizer is wrong, weight was dispersed; where "
          "both are wrong, the scores rank a wrong item first, and nothing sharper helps; where only the normalizer is right, averaging helped.",
          {{std::move(arms)}}};
}

// For a terminal: right answers by size, and why at the largest two.
Section arm_section(const RetrievalRows& rows, const std::string& arm) {
  Table why{.id = "why", .title = "Why",
            .columns = {{"why"}, {"items"}, {"right", kShare}, {"first", kShare}, {"hard", kShare}, {"nats", fixed_to(3)},
                        {"peak", fixed_to(3)}, {"on it", fixed_to(3)}}};
  const std::size_t from = rows.sizes().size() - std::min<std::size_t>(2, rows.sizes().size());
  for (std::size_t i = from; i < rows.sizes().size(); ++i)
    for (const std::string& name : rows.main_normalizers())
      if (const Json* row = rows.row(arm, name, rows.sizes()[i]))
        why.rows.push_back({name, short_count(rows.sizes()[i]), number_at(*row, "accuracy"), number_at(*row, "ranked_first"),
                            number_at(*row, "hard_accuracy"), number_at(*row, "entropy"), number_at(*row, "peak_weight"),
                            number_at(*row, "right_weight")});
  return {"arm-" + as_file_name(arm), fmt::format("Arm {}: right answers (chance {})", arm, percent(rows.chance())), "",
          {{right_by_size(rows, arm, {rows.normalizers().begin(), rows.normalizers().end()}, rows.sizes())}, {std::move(why)}},
          /*brief=*/true, /*page=*/false};
}

constexpr const char* kWhyNote =
    "first: sets whose top score is on the right item; hard: right answers of hard attention over the same scores; nats: mean entropy; "
    "peak: mean largest weight; on it: mean weight on the right item.";

Section published_section(const RetrievalRows& rows) {
  const Json& published = rows.results().at("published");
  const auto arm = rows.paper_arm();
  std::vector<std::string> families;
  std::vector<double> sizes;
  for (const Json& point : published) {
    if (rows.member(text_at(point, "normalizer"))) add_once(families, text_at(point, "normalizer"));
    if (holds(rows.sizes(), size_at(point, "n"))) add_once(sizes, size_at(point, "n"));
  }
  std::sort(sizes.begin(), sizes.end());
  Section section{"published", "Beside the published table",
                  "Accuracy as paper A reports it, and ours. The p value is of a two-sided paired t-test over seeds.", {}, /*brief=*/true};
  if (!arm || families.empty() || sizes.empty()) return section;
  Table table{.id = "all-published", .title = "Published and ours", .columns = {{"items", kCount}}, .sortable = false};
  for (const std::string& family : families) {
    table.columns.push_back({family + ", paper A", kShare});
    table.columns.push_back({family + ", ours", kShare});
  }
  std::map<double, const Json*> tests;
  for (const Json& test : rows.results().at("tests"))
    if (test.at("arm") == *arm) tests[test.at("n").get<double>()] = &test;
  if (!tests.empty()) {
    const Json& test = *tests.begin()->second;
    table.columns.push_back({fmt::format("{} − {}, points", text_at(test, "second"), text_at(test, "first")), kPoints});
    table.columns.push_back({"p, " + plural(test.at("seeds").get<double>(), "seed"), kP});
  }
  for (const double n : sizes) {
    std::vector<Cell> cells{n};
    for (const std::string& family : families) {
      Cell theirs;
      for (const Json& point : published)
        if (point.at("normalizer") == family && point.at("n") == n) theirs = number_at(point, "accuracy");
      cells.insert(cells.end(), {std::move(theirs), accuracy_cell(rows.row(*arm, *rows.member(family), n))});
    }
    const auto test = tests.find(n);
    if (!tests.empty() && test != tests.end())
      cells.insert(cells.end(), {number_at(*test->second, "difference"), number_at(*test->second, "p")});
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
  }
  section.items.push_back({std::move(table)});
  if (tests.empty()) section.items.push_back({Note{"This run has one seed, so no p value."}});
  return section;
}

Section maps_section(const RetrievalRows& rows) {
  return {"heat-maps", "Where the weight goes", "Each line of a panel is a set, its largest item at the right. Below: the mean weight on the largest item.",
          {{heat_maps_of(rows), 1, "maps of the weights"}}};
}

// How each arm was trained.
Section head_training_section(const Json& results) {
  Table table{.id = "all-trainings", .title = "How each arm was trained", .columns = {{"setting"}}, .sortable = false};
  std::vector<std::string> names;
  for (const Json& arm : results.at("arms")) {
    table.columns.push_back({text_at(arm, "name"), kCode});
    for (const auto& [name, value] : arm.at("training").items()) add_once(names, name);
  }
  for (const std::string& name : names) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    std::vector<Cell> cells{words};
    for (const Json& arm : results.at("arms")) {
      const Json value = arm.at("training").value(name, Json());
      cells.push_back(value.is_number() ? plain_number(value.get<double>()) : value.is_null() ? std::string(kNone) : value.is_string() ? value.get<std::string>() : value.dump());
    }
    table.rows.push_back(std::move(cells));
  }
  Section section{"training", "How each arm was trained", "", {}};
  section.items.push_back({std::move(table)});
  std::string losses;
  for (const Json& head : results.at("heads"))
    losses += fmt::format("{}{} seed {}: {}", losses.empty() ? "" : ", ", text_at(head, "arm"), count(head.at("seed").get<double>()),
                          formatted(fixed_to(4), number_at(head, "loss")));
  if (!losses.empty()) section.items.push_back({Note{fmt::format("Loss at the end of training: {}.", losses)}});
  if (results.contains("rows"))
    for (const Json& row : results.at("rows"))
      section.items.push_back({ScoreRow{fmt::format("{} training, seed {}, {} items", text_at(row, "arm"), row.at("seed").dump(),
                                                    count(row.at("n").get<double>())),
                                        row.at("n").get<double>(), numbers_in(row.at("quantiles"))}});
  return section;
}

}  // namespace

View retrieval_view(const Json& results) {
  View view = begun_view(results);
  const std::string preset = text_or_none_at(results, "preset");
  view.kind = "max retrieval";
  view.title = "Max retrieval";
  view.label = "retrieval, " + preset;
  for (const char* name : {"tests", "published", "heads", "heat_maps", "arms"}) static_cast<void>(results.at(name));
  const RetrievalRows rows(results);
  const std::vector<Section> numbers = retrieval_numbers(results);
  if (rows.arms().empty()) {
    view.verdict.push_back("These results hold no measurement.");
    return view;
  }
  const Story story(rows);
  view.title = fmt::format("Trained on at most {} items, tested on up to {}", count(rows.largest_trained()), count(story.largest));
  add_retrieval_verdict(view, rows, story);
  add_retrieval_tiles(view, rows, story);
  for (const std::string& arm : rows.arms()) view.sections.push_back(arm_section(rows, arm));
  view.sections.back().items.push_back({Note{kWhyNote}});
  add_sections(view, {two_by_two_section(rows), curves_section(rows, true), curves_section(rows, false), failure_section(rows, story),
                      published_section(rows), maps_section(rows), numbers[0], numbers[1], head_training_section(results)});
  return view;
}

}  // namespace sharpmax::report
