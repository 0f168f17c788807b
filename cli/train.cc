// `train`: train small transformers on small inputs, test them on large ones under every normalizer.
#include "sharpmax/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/table.h"
#include "cli/verbs.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

std::string share_text(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.1f}", 100.0 * share);
}

// Parameters make a name long: what is tested stands in the JSON, digits in full.
std::string short_name(const std::string& text, bool own) {
  return text.substr(0, text.find(':')) + (own ? " (own)" : "");
}

std::vector<const TrainSummary*> rows_of(const TrainResult& result, const std::string& arm, std::int64_t n) {
  std::vector<const TrainSummary*> rows;
  for (const TrainSummary& row : result.summary)
    if (row.arm == arm && row.n == n) rows.push_back(&row);
  return rows;
}

// Hard attention is a ceiling to compare with, not a rule to recommend.
const TrainSummary* best_of(const std::vector<const TrainSummary*>& rows) {
  const TrainSummary* best = nullptr;
  for (const TrainSummary* row : rows)
    if (row->normalizer != "hard" && (!best || row->accuracy > best->accuracy)) best = row;
  return best;
}

std::string verdict(const TrainResult& result) {
  const std::int64_t largest = result.settings.test.sizes.back();
  const std::string& arm = result.settings.arms.front().name;
  const auto rows = rows_of(result, arm, largest);
  const TrainSummary* const own = rows.front();
  const TrainSummary* const best = best_of(rows);
  std::string text =
      fmt::format("Trained on at most {} items of {} for {} steps, arm {} answers {} % at {} items.",
                  result.settings.task.largest_size, result.settings.task.task,
                  grouped(result.settings.optimizer.steps), arm, share_text(own->accuracy), grouped(largest));
  if (best && best != own && best->accuracy_low > own->accuracy_high)
    text += fmt::format(" The same weights under {} answer {} %.", short_name(best->normalizer, false),
                        share_text(best->accuracy));
  else
    text += " No other rule on the same weights is surely better.";
  const TrainSummary* leader = own;
  for (const train::Arm& one : result.settings.arms)
    if (const TrainSummary* row = rows_of(result, one.name, largest).front();
        row->accuracy > leader->accuracy)
      leader = row;
  if (leader != own)
    text += fmt::format(" Trained under {}, a model answers {} % without a change at test.",
                        short_name(leader->normalizer, false), share_text(leader->accuracy));
  return wrapped(text) + "\n";
}

Cell accuracy_cell(double accuracy, double chance) {
  const Ink ink = accuracy >= 0.9                             ? Ink::green
                  : accuracy <= chance + 0.5 * (0.9 - chance) ? Ink::red
                                                              : Ink::plain;
  return {share_text(accuracy), ink};
}

std::vector<std::int64_t> shown_sizes(const TrainResult& result) {
  constexpr std::size_t kMost = 7;
  std::vector<std::int64_t> sizes = result.settings.test.sizes;
  while (sizes.size() > kMost) sizes.erase(sizes.begin() + 1);
  return sizes;
}

std::string arm_table(const TrainResult& result, const std::string& arm, bool colour) {
  const auto sizes = shown_sizes(result);
  std::vector<Align> columns(sizes.size() + 1, Align::right);
  columns[0] = Align::left;
  Table table(columns, 2);
  std::vector<Cell> head = {{"items", Ink::bold}};
  for (const std::int64_t n : sizes) head.push_back({short_count(n), Ink::bold});
  table.add(head);
  for (const TrainSummary* first : rows_of(result, arm, sizes.front())) {
    std::vector<Cell> row = {{short_name(first->normalizer, first->own)}};
    for (const std::int64_t n : sizes)
      for (const TrainSummary* at : rows_of(result, arm, n))
        if (at->normalizer == first->normalizer && at->own == first->own)
          row.push_back(accuracy_cell(at->accuracy, result.chance));
    table.add(row);
  }
  std::vector<Cell> answers = {{"answers", Ink::dim}};
  for (const std::int64_t n : sizes)
    answers.push_back({grouped(rows_of(result, arm, n).front()->answers), Ink::dim});
  table.add(answers);
  std::int64_t models = 0, steps = 0;
  double loss = 0.0;
  for (const TrainedModel& model : result.models) {
    if (model.arm != arm) continue;
    ++models;
    steps = model.steps;
    loss += model.loss;
  }
  const std::string title =
      fmt::format("Arm {}: right answers in % (chance {})", arm, share_text(result.chance));
  const std::string how =
      fmt::format("{} steps, last loss {:.3g}, {} {}", grouped(steps), loss / static_cast<double>(models), models,
                  models == 1 ? "seed" : "seeds");
  return inked(title, Ink::bold, colour) + "\n" + inked(how, Ink::dim, colour) + "\n" + table.text(colour);
}

std::string why_table(const TrainResult& result, const std::string& arm, bool colour) {
  const std::int64_t largest = result.settings.test.sizes.back();
  Table table(
      {Align::left, Align::right, Align::left, Align::right, Align::right, Align::right, Align::right}, 2);
  std::vector<Cell> head;
  for (const std::string& word :
       {fmt::format("at {}", short_count(largest)), std::string("right"), std::string("95 %"),
        std::string("dispersion"), std::string("ranking"), std::string("averaging"), std::string("on it")})
    head.push_back({word, Ink::bold});
  table.add(head);
  for (const TrainSummary* row : rows_of(result, arm, largest))
    table.add({{short_name(row->normalizer, row->own)},
               accuracy_cell(row->accuracy, result.chance),
               {fmt::format("{} to {}", share_text(std::max(row->accuracy_low, 0.0)),
                            share_text(std::min(row->accuracy_high, 1.0)))},
               {share_text(row->dispersion)},
               {share_text(row->ranking)},
               {share_text(row->averaging)},
               {std::isnan(row->right_weight) ? "-" : short_number(row->right_weight)}});
  return table.text(colour);
}

constexpr const char* kLegend =
    "dispersion: hard attention on the same weights is right and the rule wrong; ranking: both are wrong; "
    "averaging: the rule is right where hard attention is wrong. All in % of the answers. on it: mean weight "
    "of the best head on the place of the answer.";

// A verdict, accuracy by size for each arm, and why.
std::string train_report(const TrainResult& result, bool colour) {
  std::string text;
  for (const train::Arm& arm : result.settings.arms)
    text += fmt::format("{}\n{}\n", arm_table(result, arm.name, colour), why_table(result, arm.name, colour));
  return text + inked(wrapped(kLegend), Ink::dim, colour) + "\n\n" + verdict(result);
}

}  // namespace

const char* const TrainVerb::kSummary =
    "Train small transformers under any normalizer, on at most 16 items. Test the same weights on up to 16,384 under "
    "other normalizers, and say what fails. One task takes about two minutes.";
const char* const TrainVerb::kFooter =
    "Tasks: lookup (value of a key among n pairs), member (is a key among n),\n"
    "recall (pairs in neighboring places), majority (a control). The directory keeps\n"
    "settings, checkpoints, models and tests. After an interrupt or a kill at any\n"
    "moment, the same command with --resume ends in the same results.\n"
    "\n"
    "Examples:\n"
    "  sharpmax train lookup\n"
    "  sharpmax train recall --arms softmax,ssmax,late-target --seeds 3\n"
    "  sharpmax train lookup --steps 6000 --normalizers 'softmax;log_length'\n"
    "  sharpmax train member --preset thorough --json member.json --resume";

// Before the training, not after.
void TrainVerb::check(const Given&) const {
  CallFiles(request.overwrite).writes(named("json"), json, results_kind(kTrainSchema)).check();
  if (!json.empty()) AtomicFile probe(json);
}

Outcome TrainVerb::run(const Caller& caller) {
  request.command = caller.command;
  const TrainResult result = train_models(request, caller.listener);
  Outcome outcome{.results = to_json(result), .text = [result](bool colour) { return train_report(result, colour); }};
  if (!json.empty()) write_text(json, outcome.written(outcome.results));
  caller.listener.narrate(fmt::format("everything is in {}", directory_of(request)));
  return outcome;
}

}  // namespace sharpmax::cli
