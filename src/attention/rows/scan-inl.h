// What the scores of a row say before any rule is applied: their maximum and number, where the
// maximum stands, how many keys are near it; and the two rows that need no rule.
#if defined(SHARPMAX_ROWS_SCAN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_SCAN_INL_H_
#undef SHARPMAX_ROWS_SCAN_INL_H_
#else
#define SHARPMAX_ROWS_SCAN_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Of scores that may hold NaN: the maximum of the others on some machines, NaN on the rest. The
// sums that follow catch it either way.
struct Maxima {
  float largest;
  // The least of the maxima of L disjoint parts of the row: of keys in no order about L ln L lie above it.
  float few_above;          // L: the lanes of a vector
  float some_above;         // four times as many
  float least = kInfinity;  // of the keys that are not masked; +inf where there is none, or nobody asked
};

enum class Least { no, yes };

template <Least kLeast>
HWY_INLINE Maxima maxima_of(const ScoreRow& row) {
  const FloatTag d;
  const Floats masked = Splat(-kInfinity), none = Splat(kInfinity);
  Floats top[4] = {masked, masked, masked, masked}, low[4] = {none, none, none, none};
  walk(row, [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    top[k] = hn::Max(e, top[k]);
    if constexpr (kLeast == Least::yes) low[k] = hn::Min(hn::IfThenElse(hn::Eq(e, masked), none, e), low[k]);
  });
  const Floats joined = hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]));
  const Floats least = hn::Min(hn::Min(top[0], top[1]), hn::Min(top[2], top[3]));
  return {hn::GetLane(hn::MaxOfLanes(d, joined)), hn::GetLane(hn::MinOfLanes(d, joined)),
          hn::GetLane(hn::MinOfLanes(d, least)),
          hn::GetLane(hn::MinOfLanes(d, hn::Min(hn::Min(low[0], low[1]), hn::Min(low[2], low[3]))))};
}
HWY_INLINE HWY_MAYBE_UNUSED float largest(const ScoreRow& row) { return maxima_of<Least::no>(row).largest; }

HWY_INLINE HWY_MAYBE_UNUSED std::int64_t sum_of_counts(Ints counts) {
  return hn::GetLane(hn::SumOfLanes(IntTag(), counts));
}

// How many elements fulfil a condition, counted in 32 bits: rows of less than 2^31 keys.
template <class Condition>
HWY_INLINE std::int64_t count_if(const ScoreRow& row, const Condition& holds) {
  const FloatTag d;
  const IntTag di;
  Ints counts[4] = {hn::Zero(di), hn::Zero(di), hn::Zero(di), hn::Zero(di)};
  walk(row, [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
    const auto mask = hn::RebindMask(di, holds(hn::LoadU(d, data)));
    counts[k] = hn::Sub(counts[k], hn::VecFromMask(di, mask));
  });
  return sum_of_counts(hn::Add(hn::Add(counts[0], counts[1]), hn::Add(counts[2], counts[3])));
}

// Not Ne, which on some machines is false wherever there is a NaN.
HWY_INLINE HWY_MAYBE_UNUSED std::int64_t count_keys(const ScoreRow& row) {
  return count_if(row, [](Floats e) SHARPMAX_PASS { return hn::Not(hn::Eq(e, Splat(-kInfinity))); });
}
HWY_INLINE HWY_MAYBE_UNUSED bool has_nan(const ScoreRow& row) {
  return count_if(row, [](Floats e) SHARPMAX_PASS { return hn::Not(hn::Eq(e, e)); }) > 0;
}

// The lowest index that holds `value`; -1 if none does.
HWY_INLINE HWY_MAYBE_UNUSED std::int64_t index_of(const ScoreRow& row, float value) {
  const FloatTag d;
  const std::size_t n = hn::Lanes(d);
  const Floats wanted = Splat(value);
  for (std::size_t c = 0; c < row.chunks; ++c) {
    const float* chunk = row.data + c * row.stride;
    for (std::size_t l = 0; l < row.lanes; l += n) {
      const auto equal = hn::Eq(hn::LoadU(d, chunk + l), wanted);
      const std::intptr_t lane = hn::FindFirstTrue(d, equal);
      if (lane >= 0) return static_cast<std::int64_t>(c * row.lanes + l) + lane;
    }
  }
  return -1;
}

HWY_INLINE HWY_MAYBE_UNUSED float& element(const ScoreRow& row, std::size_t index) {
  return row.data[index / row.lanes * row.stride + index % row.lanes];
}

HWY_INLINE HWY_MAYBE_UNUSED void fill(const ScoreRow& row, float value) {
  const Floats v = Splat(value);
  walk(row, [&](std::size_t, float* data, std::size_t) SHARPMAX_PASS { hn::StoreU(v, FloatTag(), data); });
}

HWY_INLINE HWY_MAYBE_UNUSED void copy_out(const ScoreRow& row, float* to) {
  walk(row, [&](std::size_t, const float* data, std::size_t index)
                SHARPMAX_PASS { hn::StoreU(hn::LoadU(FloatTag(), data), FloatTag(), to + index); });
}

HWY_INLINE HWY_MAYBE_UNUSED void put_back(const float* from, const ScoreRow& row) {
  walk(row, [&](std::size_t, float* data, std::size_t index)
                SHARPMAX_PASS { hn::StoreU(hn::LoadU(FloatTag(), from + index), FloatTag(), data); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
