#include "audit/fix/fix_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/in_quotes.h"
#include "sharpmax/error.h"
#include "statistics/significance.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kFirstEdge = 128, kEdgeFactor = 4;  // as `sharpmax perplexity` cuts them

LossChange change_between(const Outcome& plain, const Outcome& rule, std::int64_t from, std::int64_t to) {
  LossChange change{.from = from, .to = to};
  double sum_plain = 0, sum_rule = 0;
  std::vector<double> differences;
  for (std::size_t i = 0; i < plain.runs.size(); ++i) {
    const TextRun& run = plain.runs[i];
    if (run.from < from || run.from >= to) continue;
    sum_plain += run.loss;
    sum_rule += rule.runs[i].loss;
    change.tokens += run.tokens;
    differences.push_back((rule.runs[i].loss - run.loss) / static_cast<double>(run.tokens));
  }
  if (change.tokens == 0) return change;
  const auto tokens = static_cast<double>(change.tokens);
  change.plain = sum_plain / tokens;
  change.change = (sum_rule - sum_plain) / tokens;
  // A run at a chunk's end may be short; the interval is laid round the mean over tokens.
  const Interval interval = mean_interval(differences);
  const double middle = mean_of(differences);
  change.low = change.change + (interval.low - middle);
  change.high = change.change + (interval.high - middle);
  return change;
}

Flips flips_between(const std::vector<bool>& plain, const std::vector<bool>& rule) {
  Flips flips{.questions = static_cast<std::int64_t>(plain.size())};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    flips.plain += plain[i];
    flips.rule += rule[i];
    flips.up += !plain[i] && rule[i];
    flips.down += plain[i] && !rule[i];
  }
  flips.p = sign_test(flips.up, flips.down);
  return flips;
}

void check(const Outcome& plain, const Outcome& rule) {
  bool same = plain.runs.size() == rule.runs.size() && plain.right.size() == rule.right.size();
  for (std::size_t i = 0; same && i < plain.runs.size(); ++i)
    same = plain.runs[i].from == rule.runs[i].from && plain.runs[i].tokens == rule.runs[i].tokens;
  for (std::size_t i = 0; same && i < plain.right.size(); ++i)
    same = plain.right[i].size() == rule.right[i].size();
  if (!same) throw Error(ErrorCode::bad_argument, "two outcomes are not of the same text and questions");
}

}  // namespace

Comparison compare(const Outcome& plain, const Outcome& rule) {
  check(plain, rule);
  Comparison comparison;
  std::int64_t longest = 0;
  for (const TextRun& run : plain.runs) longest = std::max(longest, run.from + run.tokens);
  comparison.text = change_between(plain, rule, 0, longest + 1);
  for (std::int64_t from = 0, to = kFirstEdge; from < longest; from = to, to *= kEdgeFactor) {
    const LossChange change = change_between(plain, rule, from, to);
    if (change.tokens > 0) comparison.buckets.push_back(change);
  }
  std::vector<bool> all_plain, all_rule;
  for (std::size_t i = 0; i < plain.right.size(); ++i) {
    comparison.tasks.push_back(flips_between(plain.right[i], rule.right[i]));
    all_plain.insert(all_plain.end(), plain.right[i].begin(), plain.right[i].end());
    all_rule.insert(all_rule.end(), rule.right[i].begin(), rule.right[i].end());
  }
  comparison.task = flips_between(all_plain, all_rule);
  return comparison;
}

namespace {

double gained_share(const Flips& task) {
  if (task.questions == 0) return 0;
  return static_cast<double>(task.up - task.down) / static_cast<double>(task.questions);
}

}  // namespace

std::string_view name_of(Goal goal) {
  return goal == Goal::text ? "text" : goal == Goal::task ? "task" : "both";
}

Goal goal_of(std::string_view name) {
  for (const Goal goal : {Goal::text, Goal::task, Goal::both})
    if (name == name_of(goal)) return goal;
  throw Error(ErrorCode::bad_argument,
              fmt::format("{} is not a goal; it must be text, task or both", in_quotes(name)));
}

double score(const Comparison& tuning, const Criterion& criterion) {
  constexpr double kRuledOut = -std::numeric_limits<double>::infinity();
  const double loss = tuning.text.change;
  if (!std::isfinite(loss)) return kRuledOut;
  if (criterion.goal == Goal::text) return -loss;
  const double gained = gained_share(tuning.task);
  if (criterion.goal == Goal::task) return gained;
  return loss > criterion.allowed_loss ? kRuledOut : gained - loss;
}

std::optional<std::size_t> best_of(std::span<const double> scores) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > (best ? scores[*best] : 0.0)) best = i;
  return best;
}

Finding judge_held_out(const Comparison& held_out, const Criterion& criterion) {
  Finding f;
  f.loss_falls = held_out.text.high < 0;
  f.loss_rises = held_out.text.low > 0;
  f.task_gains = held_out.task.p < kSignificant && held_out.task.up > held_out.task.down;
  f.task_loses = held_out.task.p < kSignificant && held_out.task.down > held_out.task.up;
  f.loss_allowed = held_out.text.change <= criterion.allowed_loss;
  switch (criterion.goal) {
    case Goal::text:
      f.better = f.loss_falls;
      break;
    case Goal::task:
      f.better = f.task_gains;
      break;
    case Goal::both:
      f.better = (f.task_gains && f.loss_allowed) || (f.loss_falls && !f.task_loses);
      break;
  }
  return f;
}

std::string_view shortfall(const Finding& f, Goal goal) {
  if (goal == Goal::both && f.task_gains) return "which gains answers but adds more loss than allowed";
  const bool loss_counts = goal != Goal::task, task_counts = goal != Goal::text;
  if ((loss_counts && f.loss_rises) || (task_counts && f.task_loses)) return "which is worse";
  return "which is not shown to be better";
}

}  // namespace sharpmax::audit
