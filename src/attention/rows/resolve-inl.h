// A row of scores becomes a row of weights: the rule's kind chooses the kernel. What every kernel
// of this instruction set includes.
#if defined(SHARPMAX_ROWS_RESOLVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_RESOLVE_INL_H_
#undef SHARPMAX_ROWS_RESOLVE_INL_H_
#else
#define SHARPMAX_ROWS_RESOLVE_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "attention/rows/describe-inl.h"
#include "attention/rows/exponential-inl.h"
#include "attention/rows/pointwise-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/specification-inl.h"
#include "attention/rows/temperature_group-inl.h"
#include "attention/rows/temperature_search-inl.h"
#include "attention/rows/threshold-inl.h"
#include "attention/rows/top-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// A row without keys, or one with a NaN or +inf: nothing of it is recorded but `blank`.
HWY_INLINE HWY_MAYBE_UNUSED void leave_without_statistics(const RowWishes& wishes, double blank,
                                                          RowOutcome& out) {
  out.scale = static_cast<float>(blank);
  out.survey = blank == 0.0 ? Survey{} : Survey{.max = blank, .tail = blank, .moment = blank};
  out.mass = out.entropy = out.peak_weight = out.score_spread = out.first_weight = blank;
  out.facts = {};
  out.peak_key = -1;
  out.support = 0;
  for (std::size_t i = 0; i < wishes.top; ++i) {
    out.top_keys[i] = -1;
    out.top_weights[i] = blank;
  }
  for (std::size_t i = 0; i < wishes.gaps.size(); ++i) out.gap_counts[i] = 0;
}

// How a kind's weights go with its scores, for what is recorded of them.
enum class Order {
  strict,  // a larger score has a larger weight
  flat,    // a larger score has no smaller weight, but many have none
  unrelated,
};
HWY_INLINE HWY_MAYBE_UNUSED Order order_of(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::exponential:
    case RuleKind::surveyed:
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
    case RuleKind::sigmoid:
    case RuleKind::proportional:
      return Order::strict;
    case RuleKind::specification:
    case RuleKind::stick_breaking:
      return Order::unrelated;
    default:
      return Order::flat;
  }
}

HWY_INLINE HWY_MAYBE_UNUSED Weighed weigh_by_kind(const RowCall& call, const TargetStart& start) {
  const Rule& rule = call.rule;
  const auto exponential_at = [&](double beta) HWY_ATTR {
    if (!(beta > 0.0)) return Weighed::not_here;
    return weigh_exponential(call, beta) ? Weighed::done : Weighed::poisoned;
  };
  switch (rule.kind) {
    case RuleKind::exponential:
      return exponential_at(rule.beta);
    case RuleKind::surveyed:
      return weigh_surveyed(call);
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
      return weigh_to_target(call, start);
    case RuleKind::top_k:
      if (!(rule.beta > 0.0)) return Weighed::not_here;
      keep_largest(call.row, static_cast<std::size_t>(std::min(rule.target, call.keys)), call.workspace);
      return exponential_at(rule.beta);
    case RuleKind::hard:
      return weigh_hard(call);
    case RuleKind::threshold:
      return weigh_by_threshold(call);
    case RuleKind::sigmoid:
      return weigh_sigmoid(call);
    case RuleKind::relu:
      return weigh_relu(call);
    case RuleKind::softpick:
      return weigh_softpick(call);
    case RuleKind::self_adjust:
      return weigh_self_adjust(call);
    case RuleKind::stick_breaking:
      return weigh_stick_breaking(call);
    case RuleKind::proportional:
      return weigh_proportional(call);
    case RuleKind::specification:
      break;
  }
  return Weighed::not_here;
}

HWY_INLINE HWY_MAYBE_UNUSED void record_scores(const RowCall& call, Order order) {
  const RowWishes& wishes = call.wishes;
  if (wishes.peak_key && order != Order::unrelated)
    call.out.peak_key = call.task.first_key + index_of(call.row, call.max);
  if (wishes.spread) call.out.score_spread = static_cast<double>(call.max) - call.least;
  if (!wishes.gaps.empty()) count_gaps(call);
  if (wishes.top == 0) return;
  if (order == Order::strict) {
    record_top_keys(call, call.row);
  } else {
    copy_out(call.row, call.workspace.scores());
  }
}

HWY_INLINE HWY_MAYBE_UNUSED void record_weights(const RowCall& call, Order order, bool exactly_described) {
  if (!exactly_described) {
    // The exponential family knows its entropy and peak from its sums.
    const bool known = !std::isnan(call.out.facts.temperature) && call.rule.kind != RuleKind::threshold &&
                       call.rule.kind != RuleKind::self_adjust;
    if (!known) describe_weights(call);
    if (call.wishes.support) call.out.support = count_positive(call.row);
  }
  if (call.wishes.first && call.task.first_key == 0 && call.out.mass != 0.0)
    call.out.first_weight = static_cast<double>(call.out.scale) * call.row.data[0] / call.out.mass;
  if (call.wishes.top == 0) return;
  if (order != Order::strict) record_top_keys_by_weight(call);
  record_top_weights(call);
}

// The maxima of a row, and its rule if they are finite.
HWY_INLINE HWY_MAYBE_UNUSED OpenedRow open_row(const RowTask& task, const RowWishes& wishes, const ScoreRow& row) {
  const bool needs_least = wishes.spread || !wishes.gaps.empty();
  OpenedRow opened;
  opened.maxima = needs_least ? maxima_of<Least::yes>(row) : maxima_of<Least::no>(row);
  if (!(std::abs(opened.maxima.largest) < kInfinity)) return opened;
  opened.keys = static_cast<double>(task.keys >= 0 ? task.keys : count_keys(row));
  const HeadParameters parameters(task.normalizer->parameters(), task.head);
  opened.rule = task.normalizer->definition().rule(parameters, opened.keys);
  return opened;
}

HWY_NOINLINE inline void close_row(const RowTask& task, const RowWishes& wishes, const ScoreRow& row,
                                   RowWorkspace& workspace, RowOutcome& out, const OpenedRow& opened,
                                   const TargetStart& start) {
  leave_without_statistics(wishes, 0.0, out);
  const auto [max, few_above, some_above, least] = opened.maxima;
  if (!(max > -kInfinity) && !has_nan(row)) {
    fill(row, 0.0f);
    out.facts.log_partition = -std::numeric_limits<double>::infinity();
    return;
  }
  if (!(std::abs(max) < kInfinity)) return leave_without_statistics(wishes, kNoValue, out);
  const RowCall call{task, wishes, row, opened.rule, max, few_above, some_above, least, opened.keys, workspace, out};
  const Order order = order_of(opened.rule);
  record_scores(call, order);
  Weighed weighed = weigh_by_kind(call, start);
  const bool by_specification = weighed == Weighed::not_here;
  if (by_specification) weighed = weigh_by_specification(call);
  if (weighed == Weighed::poisoned) return leave_without_statistics(wishes, kNoValue, out);
  record_weights(call, order, by_specification);
}

// A row with a target, already opened, and those behind it, at most a group: opened together, so that they are searched
// together. take(i) after row i. Returns how many there were.
template <class Take>
HWY_NOINLINE std::size_t resolve_group(std::span<const RowTask> tasks, const RowWishes& wishes,
                                       std::span<const ScoreRow> rows, RowWorkspace& workspace, RowOutcome& out,
                                       const OpenedRow& first, const Take& take) {
  const std::size_t count = std::min(rows.size(), kGroupRows);
  OpenedRow opened[kGroupRows];
  TargetStart starts[kGroupRows];
  opened[0] = first;
  for (std::size_t i = 1; i < count; ++i) opened[i] = open_row(tasks[i], wishes, rows[i]);
  start_targets(rows.first(count), opened, first.rule.kind, workspace, starts);
  for (std::size_t i = 0; i < count; ++i) {
    close_row(tasks[i], wishes, rows[i], workspace, out, opened[i], starts[i]);
    take(i);
  }
  return count;
}

// As resolve_rows in row.h.
template <class Take>
HWY_INLINE void ResolveRows(std::span<const RowTask> tasks, const RowWishes& wishes, std::span<const ScoreRow> rows,
                            RowWorkspace& workspace, RowOutcome& out, const Take& take) {
  for (std::size_t i = 0; i < rows.size();) {
    const OpenedRow opened = open_row(tasks[i], wishes, rows[i]);
    if (has_target(opened.rule)) {
      i += resolve_group(tasks.subspan(i), wishes, rows.subspan(i), workspace, out, opened,
                         [&](std::size_t row) { take(i + row); });
    } else {
      close_row(tasks[i], wishes, rows[i], workspace, out, opened, {});
      take(i++);
    }
  }
}

HWY_NOINLINE inline void ResolveRow(const RowTask& task, const RowWishes& wishes, const ScoreRow& row,
                                    RowWorkspace& workspace, RowOutcome& out) {
  ResolveRows({&task, 1}, wishes, {&row, 1}, workspace, out, [](std::size_t) {});
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
