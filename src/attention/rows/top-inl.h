// The k largest of a row: for the top_k rule, and for the top keys among a row's statistics.
//
// The maxima of the lanes are distinct elements, so the k-th largest of them is a lower bound of the
// k-th largest of the row, and a close one: a second pass sees hardly more than k elements above it.
#if defined(SHARPMAX_ROWS_TOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_TOP_INL_H_
#undef SHARPMAX_ROWS_TOP_INL_H_
#else
#define SHARPMAX_ROWS_TOP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// -inf where finding a bound would cost more than it saves.
HWY_INLINE HWY_MAYBE_UNUSED float lower_bound_of_kth(const ScoreRow& row, std::size_t k,
                                                     RowWorkspace& workspace) {
  constexpr std::size_t kLanes = 4 * HWY_LANES(float);
  const std::size_t parts = (2 * k + kLanes - 1) / kLanes;  // twice as many maxima as are asked for
  if (4 * parts * kLanes > row.chunks * row.lanes || parts > row.chunks) return -kInfinity;
  float* const maxima = workspace.candidates();
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t first = part * row.chunks / parts, last = (part + 1) * row.chunks / parts;
    Floats top[4] = {Splat(-kInfinity), Splat(-kInfinity), Splat(-kInfinity), Splat(-kInfinity)};
    walk({row.data + first * row.stride, last - first, row.stride, row.lanes},
         [&](std::size_t i, const float* data, std::size_t)
             SHARPMAX_PASS { top[i] = hn::Max(hn::LoadU(FloatTag(), data), top[i]); });
    for (std::size_t i = 0; i < 4; ++i)
      hn::StoreU(top[i], FloatTag(), maxima + part * kLanes + i * HWY_LANES(float));
  }
  std::nth_element(maxima, maxima + (k - 1), maxima + parts * kLanes, std::greater<float>());
  return maxima[k - 1];
}

// Heavier first; of equals the lower index.
inline bool ranks_before(const RankedKey& a, const RankedKey& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

// The k largest finite elements (fewer if there are fewer), the k-th of them last, into
// workspace.ranked(). NaN never ranks. Returns how many.
HWY_NOINLINE inline std::size_t select_largest(const ScoreRow& row, std::size_t k, RowWorkspace& workspace) {
  const FloatTag d;
  k = std::min(k, row.chunks * row.lanes);
  if (k == 0) return 0;
  RankedKey* const ranked = workspace.ranked();
  std::size_t count = 0;
  float limit = std::max(lower_bound_of_kth(row, k, workspace), std::numeric_limits<float>::lowest());
  const std::size_t most = 2 * k + HWY_LANES(float);  // then the worse half goes
  const auto keep_best = [&]() HWY_ATTR {
    std::nth_element(ranked, ranked + (k - 1), ranked + count, ranks_before);
    count = k;
  };
  walk(row, [&](std::size_t, const float* data, std::size_t index) SHARPMAX_PASS {
    if (hn::AllFalse(d, hn::Ge(hn::LoadU(d, data), Splat(limit)))) return;
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane)
      if (data[lane] >= limit) ranked[count++] = {data[lane], static_cast<std::uint32_t>(index + lane)};
    if (count < most) return;
    keep_best();
    // A later key that only equals the worst one kept loses to it.
    limit = std::nextafter(ranked[k - 1].value, kInfinity);
  });
  if (count >= k) keep_best();
  return count;
}
// So few are kept in order as they come.
inline constexpr std::size_t kFewKeys = 16;

// A value that at least k elements reach and few exceed: each lane's maximum is one of them, and bisection
// finds how high k of these lie. The lowest float where the row is too short to tell.
HWY_INLINE HWY_MAYBE_UNUSED float reached_by(const ScoreRow& row, std::size_t k) {
  const FloatTag d;
  Floats top[4] = {Splat(-kInfinity), Splat(-kInfinity), Splat(-kInfinity), Splat(-kInfinity)};
  walk(row, [&](std::size_t i, const float* data, std::size_t)
                SHARPMAX_PASS { top[i] = hn::Max(hn::LoadU(d, data), top[i]); });
  const Floats least = hn::Min(hn::Min(top[0], top[1]), hn::Min(top[2], top[3]));
  const Floats most = hn::Max(hn::Max(top[0], top[1]), hn::Max(top[2], top[3]));
  float low = hn::GetLane(hn::MinOfLanes(d, least)), high = hn::GetLane(hn::MaxOfLanes(d, most));
  if (k > 4 * hn::Lanes(d) || !(low > -kInfinity)) return std::numeric_limits<float>::lowest();
  constexpr int kHalvings = 7;  // of the maxima's spread: then one or two too many are left
  for (int i = 0; i < kHalvings; ++i) {
    const float middle = low + 0.5f * (high - low);
    std::size_t reached = 0;
    for (const Floats& t : top) reached += hn::CountTrue(d, hn::Ge(t, Splat(middle)));
    (reached >= k ? low : high) = middle;
  }
  return low;
}

// The k <= kFewKeys largest finite elements, best first, into workspace.ranked(). Returns how many.
HWY_NOINLINE inline std::size_t rank_few(const ScoreRow& row, std::size_t k, RowWorkspace& workspace) {
  const FloatTag d;
  RankedKey* const ranked = workspace.ranked();
  std::size_t count = 0;
  float limit = reached_by(row, k);
  walk(row, [&](std::size_t, const float* data, std::size_t index) SHARPMAX_PASS {
    const auto reaching = hn::Ge(hn::LoadU(d, data), Splat(limit));
    if (hn::AllFalse(d, reaching)) return;
    HWY_ALIGN std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, reaching, bytes);
    std::uint64_t lanes;
    std::memcpy(&lanes, bytes, sizeof(lanes));
    for (; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
      const float value = data[lane];
      // Of equals the earlier stays.
      if (count == k && !(value > ranked[k - 1].value)) continue;
      std::size_t place = count < k ? count++ : k - 1;
      for (; place > 0 && ranked[place - 1].value < value; --place) ranked[place] = ranked[place - 1];
      ranked[place] = {value, static_cast<std::uint32_t>(index + lane)};
      if (count == k) limit = std::max(limit, ranked[k - 1].value);
    }
  });
  return count;
}

// The k largest finite elements, best first.
HWY_INLINE HWY_MAYBE_UNUSED std::size_t rank_largest(const ScoreRow& row, std::size_t k, RowWorkspace& workspace) {
  if (k == 0) return 0;
  if (k <= kFewKeys && row.chunks > 0) return rank_few(row, k, workspace);
  const std::size_t found = select_largest(row, k, workspace);
  std::sort(workspace.ranked(), workspace.ranked() + found, ranks_before);
  return found;
}

// Masks every key but the k largest; of equal ones the lowest indices stay. NaN stays too, to be found.
HWY_NOINLINE inline void keep_largest(const ScoreRow& row, std::size_t k, RowWorkspace& workspace) {
  const FloatTag d;
  const std::size_t found = select_largest(row, k, workspace);
  if (found < k) return;  // no more than k keys
  const RankedKey last = workspace.ranked()[found - 1];
  const Floats limit = Splat(last.value), masked = Splat(-kInfinity);
  walk(row, [&](std::size_t, float* data, std::size_t index) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    hn::StoreU(hn::IfThenElse(hn::Lt(e, limit), masked, e), d, data);
    if (index + hn::Lanes(d) <= last.index || hn::AllFalse(d, hn::Eq(e, limit))) return;
    for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane)
      if (data[lane] == last.value && index + lane > last.index) data[lane] = -kInfinity;
  });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
