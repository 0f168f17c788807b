// Statistics that are read off the finished weights: for maps whose entropy no sum of the sweep gives.
#if defined(SHARPMAX_ROWS_DESCRIBE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_DESCRIBE_INL_H_
#undef SHARPMAX_ROWS_DESCRIBE_INL_H_
#else
#define SHARPMAX_ROWS_DESCRIBE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

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

// Gap counts: how many keys lie within each of a few distances of the largest score.

// Floats in their order as integers in theirs.
inline std::int64_t place_of(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits >= 0 ? bits : -static_cast<std::int64_t>(bits & 0x7fffffff);
}
inline float float_at(std::int64_t place) {
  const auto bits = static_cast<std::int32_t>(place >= 0 ? place : -place);
  const float value = std::bit_cast<float>(bits);
  return place >= 0 ? value : -value;
}

// The least finite float e with max - e <= gap, the difference taken in double.
HWY_INLINE HWY_MAYBE_UNUSED float nearest_within(float max, double gap) {
  const double top = max;
  const auto within = [&](std::int64_t place) { return top - static_cast<double>(float_at(place)) <= gap; };
  const std::int64_t lowest = place_of(std::numeric_limits<float>::lowest());
  const double edge = std::max(top - gap, static_cast<double>(std::numeric_limits<float>::lowest()));
  // Nearly always the difference rounded up ...
  const float rounded = static_cast<float>(edge);
  const std::int64_t guess = place_of(rounded) + (static_cast<double>(rounded) < edge ? 1 : 0);
  if (guess > lowest && within(guess) && !within(guess - 1)) return float_at(guess);
  // ... but next to 0 floats are so dense that many differ from max by the same double.
  std::int64_t inside = place_of(max), outside = lowest - 1;
  while (inside - outside > 1) {
    const std::int64_t middle = outside + (inside - outside) / 2;
    (within(middle) ? inside : outside) = middle;
  }
  return float_at(inside);
}

// Where a mask is a vector of 0 and -1 it counts by itself; elsewhere an addition takes it for the price of
// one, and making a vector of it would cost as much as the comparison.
inline constexpr bool kMasksAreVectors = HWY_TARGET > HWY_AVX3;

// Counts stay in registers, one vector a gap.
template <std::size_t kGaps>
HWY_NOINLINE void count_gaps_of_pass(const ScoreRow& row, const float* limits, std::int64_t* counts) {
  const FloatTag d;
  const IntTag di;
  Ints inside[kGaps];
  Floats limit[kGaps];
  for (std::size_t i = 0; i < kGaps; ++i) {
    inside[i] = hn::Zero(di);
    limit[i] = Splat(limits[i]);
  }
  walk(row, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    for (std::size_t i = 0; i < kGaps; ++i) {
      const auto within = hn::RebindMask(di, hn::Ge(e, limit[i]));
      if constexpr (kMasksAreVectors) {
        inside[i] = hn::Sub(inside[i], hn::VecFromMask(di, within));
      } else {
        inside[i] = hn::IfThenElse(within, hn::Add(inside[i], hn::Set(di, 1)), inside[i]);
      }
    }
  });
  for (std::size_t i = 0; i < kGaps; ++i) counts[i] = sum_of_counts(inside[i]);
}

inline constexpr std::size_t kGapsAPass = 8;

HWY_INLINE HWY_MAYBE_UNUSED void count_some_gaps(const ScoreRow& row, std::size_t gaps, const float* limits,
                                                 std::int64_t* counts) {
  switch (gaps) {
    case 1:
      return count_gaps_of_pass<1>(row, limits, counts);
    case 2:
      return count_gaps_of_pass<2>(row, limits, counts);
    case 3:
      return count_gaps_of_pass<3>(row, limits, counts);
    case 4:
      return count_gaps_of_pass<4>(row, limits, counts);
    case 5:
      return count_gaps_of_pass<5>(row, limits, counts);
    case 6:
      return count_gaps_of_pass<6>(row, limits, counts);
    case 7:
      return count_gaps_of_pass<7>(row, limits, counts);
    default:
      return count_gaps_of_pass<8>(row, limits, counts);
  }
}

// Gaps ascend, so from the first that holds all unmasked keys the rest do too.
HWY_NOINLINE inline void count_gaps(const RowCall& call) {
  const std::span<const double> gaps = call.wishes.gaps;
  std::int64_t* const counts = call.out.gap_counts;
  std::size_t wide = gaps.size();
  while (wide > 0 && static_cast<double>(call.max) - static_cast<double>(call.least) <= gaps[wide - 1]) {
    counts[--wide] = static_cast<std::int64_t>(call.keys);
  }
  for (std::size_t first = 0; first < wide; first += kGapsAPass) {
    const std::size_t here = HWY_MIN(kGapsAPass, wide - first);
    float limits[kGapsAPass];
    for (std::size_t i = 0; i < here; ++i) limits[i] = nearest_within(call.max, gaps[first + i]);
    count_some_gaps(call.row, here, limits, counts + first);
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
