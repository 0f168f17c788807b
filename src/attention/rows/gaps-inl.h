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
  std::int64_t inside = place_of(max), outside = lowest - 1;
  // Nearly always the rounded difference or a neighbour; but next to 0 floats are so dense that many
  // differ from max by the same double.
  const std::int64_t guess =
      place_of(static_cast<float>(std::max(top - gap, static_cast<double>(float_at(lowest)))));
  for (const std::int64_t place : {guess - 2, guess - 1, guess, guess + 1, guess + 2}) {
    if (place <= outside || place >= inside) continue;
    (within(place) ? inside : outside) = place;
  }
  while (inside - outside > 1) {
    const std::int64_t middle = outside + (inside - outside) / 2;
    (within(middle) ? inside : outside) = middle;
  }
  return float_at(inside);
}

// With their counts they fill the registers of the smaller instruction sets.
inline constexpr std::size_t kGapsAPass = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

HWY_INLINE HWY_MAYBE_UNUSED void count_gaps_of_pass(const ScoreRow& row, const float* limits, std::int64_t* counts) {
  const FloatTag d;
  std::size_t inside[kGapsAPass] = {};
  Floats limit[kGapsAPass];
  for (std::size_t i = 0; i < kGapsAPass; ++i) limit[i] = Splat(limits[i]);
  walk(row, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    for (std::size_t i = 0; i < kGapsAPass; ++i) inside[i] += hn::CountTrue(d, hn::Ge(e, limit[i]));
  });
  for (std::size_t i = 0; i < kGapsAPass; ++i) counts[i] = static_cast<std::int64_t>(inside[i]);
}

HWY_INLINE HWY_MAYBE_UNUSED float least_unmasked(const ScoreRow& row) {
  const FloatTag d;
  Floats least[4] = {Splat(kInfinity), Splat(kInfinity), Splat(kInfinity), Splat(kInfinity)};
  walk(row, [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    least[k] = hn::Min(least[k], hn::IfThenElse(hn::Eq(e, Splat(-kInfinity)), Splat(kInfinity), e));
  });
  return hn::GetLane(hn::MinOfLanes(d, hn::Min(hn::Min(least[0], least[1]), hn::Min(least[2], least[3]))));
}

// `keys`: the unmasked ones. Gaps ascend, so from the first that holds them all the rest do too.
HWY_NOINLINE inline void count_gaps(const ScoreRow& row, float max, double keys, std::span<const double> gaps,
                                    std::int64_t* counts) {
  const float least = least_unmasked(row);
  std::size_t wide = gaps.size();
  while (wide > 0 && static_cast<double>(max) - static_cast<double>(least) <= gaps[wide - 1]) {
    counts[--wide] = static_cast<std::int64_t>(keys);
  }
  for (std::size_t first = 0; first < wide; first += kGapsAPass) {
    const std::size_t here = HWY_MIN(kGapsAPass, wide - first);
    float limits[kGapsAPass];
    std::int64_t found[kGapsAPass];
    for (std::size_t i = 0; i < kGapsAPass; ++i)
      limits[i] = i < here ? nearest_within(max, gaps[first + i]) : kInfinity;
    count_gaps_of_pass(row, limits, found);
    for (std::size_t i = 0; i < here; ++i) counts[first + i] = found[i];
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
