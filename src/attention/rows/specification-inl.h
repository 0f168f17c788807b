// A row that has no kernel of its own goes through the specification in double.
#if defined(SHARPMAX_ROWS_SPECIFICATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_SPECIFICATION_INL_H_
#undef SHARPMAX_ROWS_SPECIFICATION_INL_H_
#else
#define SHARPMAX_ROWS_SPECIFICATION_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "attention/rows/row.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

HWY_INLINE HWY_MAYBE_UNUSED void widen(const ScoreRow& row, std::span<double> to) {
  for (std::size_t c = 0; c < row.chunks; ++c)
    for (std::size_t l = 0; l < row.lanes; ++l) to[c * row.lanes + l] = row.data[c * row.stride + l];
}
HWY_INLINE HWY_MAYBE_UNUSED void narrow(std::span<const double> from, const ScoreRow& row) {
  for (std::size_t c = 0; c < row.chunks; ++c)
    for (std::size_t l = 0; l < row.lanes; ++l)
      row.data[c * row.stride + l] = static_cast<float>(from[c * row.lanes + l]);
}

// Mass, entropy, peak and support of p = w / sum w. Weights may be negative (self_adjust in plain form).
HWY_INLINE HWY_MAYBE_UNUSED void describe_exactly(std::span<const double> scores,
                                                  std::span<const double> weights, std::int64_t first_key,
                                                  RowOutcome& out) {
  double mass = 0.0;
  for (const double w : weights) mass += w;
  out.mass = mass;
  std::size_t peak = weights.size();
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (scores[j] == -std::numeric_limits<double>::infinity() || weights[j] == 0.0) continue;
    out.support += weights[j] / mass > 0.0;
    if (peak == weights.size() || weights[j] / mass > weights[peak] / mass) peak = j;
  }
  if (peak == weights.size()) return;
  double rest = 0.0;  // beside the peak: kept apart so that a sharp row keeps its digits
  for (std::size_t j = 0; j < weights.size(); ++j) {
    if (j == peak || weights[j] == 0.0) continue;
    out.entropy -= weights[j] / mass * std::log(weights[j] / mass);
    rest += weights[j];
  }
  out.peak_key = first_key + static_cast<std::int64_t>(peak);
  out.peak_weight = weights[peak] / mass;
  out.entropy += out.peak_weight * std::log1p(rest / weights[peak]);
}

// Scores that are finite or masked, at least one of them finite.
HWY_NOINLINE inline Weighed weigh_by_specification(const RowCall& call) {
  const std::span<double> scores = call.workspace.exact(0, call.size());
  const std::span<double> weights = call.workspace.exact(1, call.size());
  widen(call.row, scores);
  call.out.facts = weigh_row(*call.task.normalizer, call.task.head, scores, weights);
  if (std::isnan(weights[0])) return Weighed::poisoned;
  narrow(weights, call.row);
  call.out.scale = 1.0f;
  describe_exactly(scores, weights, call.task.first_key, call.out);
  return Weighed::done;
}

HWY_NOINLINE inline void backward_by_specification(const RowTask& task, const ScoreRow& scores_row,
                                                   const ScoreRow& d_weights_row, RowWorkspace& workspace,
                                                   std::span<double> d_parameters) {
  const std::size_t keys = scores_row.chunks * scores_row.lanes;
  const std::span<double> scores = workspace.exact(0, keys), weights = workspace.exact(1, keys);
  const std::span<double> d_weights = workspace.exact(2, keys), d_scores = workspace.exact(3, keys);
  widen(scores_row, scores);
  widen(d_weights_row, d_weights);
  weigh_row(*task.normalizer, task.head, scores, weights);
  backward_row(*task.normalizer, task.head, scores, weights, d_weights, d_scores, d_parameters);
  narrow(weights, scores_row);
  narrow(d_scores, d_weights_row);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
