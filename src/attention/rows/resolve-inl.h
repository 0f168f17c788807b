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

#include "attention/rows/exponential-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/specification-inl.h"
#include "attention/rows/threshold-inl.h"
#include "attention/rows/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

HWY_INLINE HWY_MAYBE_UNUSED void leave_empty(const ScoreRow& row, RowOutcome& out) {
  fill(row, 0.0f);
  out.facts.log_partition = -std::numeric_limits<double>::infinity();
}

HWY_INLINE HWY_MAYBE_UNUSED void leave_poisoned(RowOutcome& out) {
  out.scale = std::numeric_limits<float>::quiet_NaN();
  out.mass = out.entropy = out.peak_weight = kNoValue;
  out.facts = {};
  out.peak_key = -1;
  out.support = 0;
}

// Rules the kernels below carry out. The others, and temperatures at which the largest score is not
// the heaviest, go through the specification.
HWY_INLINE HWY_MAYBE_UNUSED bool has_kernel(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::exponential:
      return rule.beta > 0.0;
    case RuleKind::surveyed:
      return true;
    case RuleKind::threshold:
      return rule.beta > 0.0 && (rule.alpha == 1.5 || rule.alpha == 2.0);
    default:
      return false;
  }
}

// False if a score was NaN.
HWY_INLINE HWY_MAYBE_UNUSED bool weigh(const RowTask& task, const Rule& rule, const RowWishes& wishes,
                                       const ScoreRow& row, float max, RowWorkspace& workspace,
                                       RowOutcome& out) {
  switch (rule.kind) {
    case RuleKind::surveyed: {
      const ExponentialSums sums = sweep<Moment::yes, Store::no>(row, max, 1.0);
      if (std::isnan(sums.sum)) return false;
      const Survey survey{.max = max, .tail = sums.sum - 1.0, .moment = sums.moment};
      const HeadParameters parameters(task.normalizer->parameters(), task.head);
      return weigh_exponential(row, max, rule.temperature(parameters, survey), rule.sink, wishes, out);
    }
    case RuleKind::threshold:
      return rule.alpha == 2.0 ? weigh_threshold<1>(row, max, rule, workspace, out)
                               : weigh_threshold<2>(row, max, rule, workspace, out);
    default:
      return weigh_exponential(row, max, rule.beta, rule.sink, wishes, out);
  }
}

HWY_INLINE HWY_MAYBE_UNUSED Rule rule_of(const RowTask& task, const ScoreRow& row) {
  const std::int64_t keys = task.keys >= 0 ? task.keys : count_keys(row);
  return task.normalizer->definition().rule(HeadParameters(task.normalizer->parameters(), task.head),
                                            static_cast<double>(keys));
}

HWY_NOINLINE HWY_MAYBE_UNUSED void ResolveRow(const RowTask& task, const RowWishes& wishes, const ScoreRow& row,
                                              RowWorkspace& workspace, RowOutcome& out) {
  out.scale = 0.0f;
  out.mass = out.entropy = out.peak_weight = 0.0;
  out.facts = {};
  out.peak_key = -1;
  out.support = 0;
  const float max = largest(row);
  if (!(max > -kInfinity) && !has_nan(row)) return leave_empty(row, out);
  if (!(std::abs(max) < kInfinity)) return leave_poisoned(out);
  const Rule rule = rule_of(task, row);
  if (!has_kernel(rule)) {
    resolve_by_specification(task, row, workspace, out);
    if (std::isnan(out.mass)) leave_poisoned(out);
    return;
  }
  if (wishes.peak) out.peak_key = task.first_key + index_of(row, max);
  if (!weigh(task, rule, wishes, row, max, workspace, out)) return leave_poisoned(out);
  if (wishes.support)
    out.support = count_if(row, [](Floats w) SHARPMAX_PASS { return hn::Gt(w, hn::Zero(FloatTag())); });
}

HWY_NOINLINE HWY_MAYBE_UNUSED void BackwardRow(const RowTask& task, const ScoreRow& scores,
                                               const ScoreRow& d_weights, RowWorkspace& workspace,
                                               std::span<double> d_parameters) {
  backward_by_specification(task, scores, d_weights, workspace, d_parameters);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
