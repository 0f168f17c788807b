// Gap counts: how many keys lie within each of a few distances of the largest score.
#if defined(SHARPMAX_ROWS_GAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_GAPS_INL_H_
#undef SHARPMAX_ROWS_GAPS_INL_H_
#else
#define SHARPMAX_ROWS_GAPS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

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
