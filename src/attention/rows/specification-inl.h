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
#include <span>

#include "attention/rows/row.h"
#include "attention/rows/workspace.h"

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

// Entropy, peak and support of w / sum w.
HWY_INLINE HWY_MAYBE_UNUSED void describe(std::span<const double> weights, std::int64_t first_key,
                                          RowOutcome& out) {
  out.mass = 0.0;
  out.support = 0;
  double peak = 0.0, weighted_logs = 0.0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    const double w = weights[j];
    out.mass += w;
    out.support += w > 0.0;
    if (w > 0.0) weighted_logs += w * std::log(w);
    if (w > peak) {
      peak = w;
      out.peak_key = first_key + static_cast<std::int64_t>(j);
    }
  }
  if (!(out.mass > 0.0)) return;
  out.peak_weight = peak / out.mass;
  out.entropy = std::log(out.mass) - weighted_logs / out.mass;
}

HWY_NOINLINE HWY_MAYBE_UNUSED void resolve_by_specification(const RowTask& task, const ScoreRow& row,
                                                            RowWorkspace& workspace, RowOutcome& out) {
  const std::size_t keys = row.chunks * row.lanes;
  const std::span<double> scores = workspace.exact(0, keys), weights = workspace.exact(1, keys);
  widen(row, scores);
  out.facts = weigh_row(*task.normalizer, task.head, scores, weights);
  narrow(weights, row);
  out.scale = 1.0f;
  describe(weights, task.first_key, out);
}

HWY_NOINLINE HWY_MAYBE_UNUSED void backward_by_specification(const RowTask& task, const ScoreRow& scores_row,
                                                             const ScoreRow& d_weights_row,
                                                             RowWorkspace& workspace,
                                                             std::span<double> d_parameters) {
  const std::size_t keys = scores_row.chunks * scores_row.lanes;
  const std::span<double> scores = workspace.exact(0, keys), weights = workspace.exact(1, keys);
  const std::span<double> d_weights = workspace.exact(2, keys), d_scores = workspace.exact(3, keys);
  widen(scores_row, scores);
  widen(d_weights_row, d_weights);
  weigh_row(*task.normalizer, task.head, scores, weights);
  constexpr std::size_t kMostParameters = 16;
  double unwanted[kMostParameters] = {};
  const std::size_t parameters = task.normalizer->parameters().size();
  backward_row(*task.normalizer, task.head, scores, weights, d_weights, d_scores,
               d_parameters.empty() ? std::span<double>(unwanted, parameters) : d_parameters);
  narrow(weights, scores_row);
  narrow(d_scores, d_weights_row);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
