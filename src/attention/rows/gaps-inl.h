// Gap counts: how many keys lie within each of a few distances of the largest score.
#if defined(SHARPMAX_ROWS_GAPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_GAPS_INL_H_
#undef SHARPMAX_ROWS_GAPS_INL_H_
#else
#define SHARPMAX_ROWS_GAPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// The least float e with max - e <= gap in exact arithmetic (of the doubles they are).
HWY_INLINE HWY_MAYBE_UNUSED float nearest_within(float max, double gap) {
  const double top = max;
  float limit = static_cast<float>(top - gap);
  while (limit > -kInfinity && top - std::nextafter(limit, -kInfinity) <= gap) limit = std::nextafter(limit, -kInfinity);
  while (top - limit > gap) limit = std::nextafter(limit, kInfinity);
  return limit == -kInfinity ? std::numeric_limits<float>::lowest() : limit;
}

// Four gaps a pass: with their counts they fill the registers of the smaller instruction sets.
inline constexpr std::size_t kGapsAPass = 4;

HWY_INLINE HWY_MAYBE_UNUSED void count_gaps_of_pass(const ScoreRow& row, const float* limits, std::int64_t* counts) {
  const FloatTag d;
  const IntTag di;
  Ints inside[kGapsAPass];
  Floats limit[kGapsAPass];
  for (std::size_t i = 0; i < kGapsAPass; ++i) {
    inside[i] = hn::Zero(di);
    limit[i] = Splat(limits[i]);
  }
  walk(row, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    for (std::size_t i = 0; i < kGapsAPass; ++i)
      inside[i] = hn::Sub(inside[i], hn::VecFromMask(di, hn::RebindMask(di, hn::Ge(e, limit[i]))));
  });
  for (std::size_t i = 0; i < kGapsAPass; ++i) counts[i] = sum_of_counts(inside[i]);
}

HWY_NOINLINE inline void count_gaps(const ScoreRow& row, float max, std::span<const double> gaps,
                                              std::int64_t* counts) {
  for (std::size_t first = 0; first < gaps.size(); first += kGapsAPass) {
    const std::size_t here = HWY_MIN(kGapsAPass, gaps.size() - first);
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
