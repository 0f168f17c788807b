#include "audit/fix/choice.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
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
