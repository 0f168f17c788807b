// What the trials of a fix say: comparisons with doing nothing, the choice, the verdict.
#include <fmt/format.h>

#include <string_view>

#include "audit/fix/choice.h"
#include "sharpmax/fix.h"

namespace sharpmax {
namespace {

audit::Criterion criterion_of(const FixSettings& settings) { return {audit::goal_of(settings.for_), settings.allow}; }

std::string held_out_words(const FixComparison& c) {
  return fmt::format(
      "the loss changes by {:+.3f} nats per token ({:+.3f} to {:+.3f}), and {} of {} questions are right instead of {} "
      "({} up, {} down, p = {:.3f})",
      c.text.change, c.text.low, c.text.high, c.task.rule, c.task.questions, c.task.plain, c.task.up, c.task.down,
      c.task.p);
}

}  // namespace

std::vector<std::optional<std::int64_t>> FixResult::question_lengths() const {
  if (!settings.lookup) return {std::nullopt};
  return {settings.lookup->lengths.begin(), settings.lookup->lengths.end()};
}

FixComparison FixResult::on_tuning(std::size_t trial) const {
  return audit::compare(trials.at(0).tuning, trials.at(trial).tuning);
}

FixComparison FixResult::on_held_out(std::size_t trial) const {
  return audit::compare(trials.at(0).held_out.value(), trials.at(trial).held_out.value());
}

double FixResult::score_of(std::size_t trial) const { return audit::score(on_tuning(trial), criterion_of(settings)); }

std::optional<std::size_t> FixResult::chosen() const {
  std::vector<double> scores;
  for (std::size_t i = 0; i < trials.size(); ++i) scores.push_back(score_of(i));
  return audit::best_of(scores);
}

std::optional<FixFinding> FixResult::finding() const {
  const auto best = chosen();
  if (!best) return std::nullopt;
  return audit::judge_held_out(on_held_out(*best), criterion_of(settings));
}

std::size_t FixResult::use() const {
  const auto found = finding();
  return found && found->better ? *chosen() : 0;
}

std::string FixResult::verdict() const {
  const auto best = chosen();
  if (!best)
    return fmt::format("Leave it as it is: none of the {} candidates is better on the data used for selection.",
                       trials.size() - 1);
  const std::string &name = trials[*best].rule, words = held_out_words(on_held_out(*best));
  if (use() == 0)
    return fmt::format("Leave it as it is: {} came out best on the data used for selection, but on held-out data {}, {}.",
                       name, words, audit::shortfall(*finding(), audit::goal_of(settings.for_)));
  return fmt::format("Use {}: on held-out data {}.", name, words);
}

}  // namespace sharpmax
