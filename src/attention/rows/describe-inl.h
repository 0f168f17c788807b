// Statistics that are read off the finished weights: for maps whose entropy no sum of the sweep gives.
#if defined(SHARPMAX_ROWS_DESCRIBE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_DESCRIBE_INL_H_
#undef SHARPMAX_ROWS_DESCRIBE_INL_H_
#else
#define SHARPMAX_ROWS_DESCRIBE_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/top-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Entropy of w / sum w for weights >= 0 whose largest is `peak` > 0. With u = w / peak it is
// ln(1 + tail) - (sum u ln u) / (1 + tail), where the peak adds nothing to either sum: a sharp row
// keeps its digits.
HWY_NOINLINE inline double entropy_of_weights(const ScoreRow& weights, float peak) {
  const FloatTag d;
  const Floats zero = hn::Zero(d), one = Splat(1.0f), largest_weight = Splat(peak);
  const Floats least = Splat(std::numeric_limits<float>::min());
  RowSum peaks, rest, moment;
  walk(
      weights,
      [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
        const Floats u = hn::Div(hn::LoadU(d, data), largest_weight);
        const auto is_peak = hn::Eq(u, one);
        peaks.add(k, hn::IfThenElse(is_peak, one, zero));
        rest.add(k, hn::IfThenZeroElse(is_peak, u));
        moment.add_product(k, u, logarithm(hn::Max(u, least)));
      },
      [&]() SHARPMAX_PASS {
        peaks.fold();
        rest.fold();
        moment.fold();
      });
  const double tail = (peaks.value() - 1.0) + rest.value();
  return std::log1p(tail) - moment.value() / (1.0 + tail);
}

HWY_INLINE HWY_MAYBE_UNUSED std::int64_t count_positive(const ScoreRow& weights) {
  return count_if(weights, [](Floats w) SHARPMAX_PASS { return hn::Gt(w, hn::Zero(FloatTag())); });
}

// Entropy and peak weight of a row whose weights, scale and mass stand, none of them negative. A row
// without any weight has neither.
HWY_INLINE HWY_MAYBE_UNUSED void describe_weights(const RowCall& call) {
  if (!call.wishes.entropy && !call.wishes.peak) return;
  RowOutcome& out = call.out;
  const float peak = largest(call.row);
  if (!(peak > 0.0f) || !(out.mass > 0.0)) {
    out.peak_key = -1;
    return;
  }
  out.peak_weight = static_cast<double>(peak) * out.scale / out.mass;
  if (call.wishes.peak_key &&
      call.rule.kind == RuleKind::stick_breaking)  // the others never reverse an order
    out.peak_key = call.task.first_key + index_of(call.row, peak);
  if (call.wishes.entropy) out.entropy = entropy_of_weights(call.row, peak);
}

// The heaviest keys, while the row still holds scores and weights rise with them ...
HWY_INLINE HWY_MAYBE_UNUSED void record_top_keys(const RowCall& call, const ScoreRow& ranks) {
  const std::size_t found = rank_largest(ranks, call.wishes.top, call.workspace);
  for (std::size_t i = 0; i < call.wishes.top; ++i)
    call.out.top_keys[i] =
        i < found ? call.task.first_key + static_cast<std::int64_t>(call.workspace.ranked()[i].index) : -1;
}
// ... or when it holds weights, of which masked keys (known from a copy of the scores) are none.
HWY_INLINE HWY_MAYBE_UNUSED void record_top_keys_by_weight(const RowCall& call) {
  float* const copy = call.workspace.scores();
  const Floats masked = Splat(-kInfinity);
  walk(call.row, [&](std::size_t, const float* data, std::size_t index) SHARPMAX_PASS {
    const auto is_masked = hn::Eq(hn::LoadU(FloatTag(), copy + index), masked);
    hn::StoreU(hn::IfThenElse(is_masked, masked, hn::LoadU(FloatTag(), data)), FloatTag(), copy + index);
  });
  record_top_keys(call, {.data = copy, .chunks = 1, .stride = call.size(), .lanes = call.size()});
}
HWY_INLINE HWY_MAYBE_UNUSED void record_top_weights(const RowCall& call) {
  for (std::size_t i = 0; i < call.wishes.top; ++i) {
    const std::int64_t key = call.out.top_keys[i];
    call.out.top_weights[i] =
        key < 0 ? 0.0
                : static_cast<double>(call.out.scale) *
                      element(call.row, static_cast<std::size_t>(key - call.task.first_key));
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
