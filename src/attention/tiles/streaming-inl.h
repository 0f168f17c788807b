// The streaming plan: exponential rules whose temperature is known before the scores are. One pass
// over the keys, block by block; a row keeps its running maximum and sums, and what it has folded
// so far is rescaled when the maximum grows.
#if defined(SHARPMAX_STREAMING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_STREAMING_INL_H_
#undef SHARPMAX_STREAMING_INL_H_
#else
#define SHARPMAX_STREAMING_INL_H_
#endif

#include <cmath>
#include <limits>

#include "attention/tiles/scores-inl.h"
#include "attention/rows/math-inl.h"
#include "sharpmax/survey.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// What the rows of one group remember from block to block. With statistics, `sum` leaves out the
// keys that equal the maximum (they are counted in `ties`), so that the tail of a sharp row keeps its
// digits; without, `sum` is everything.
struct GroupState {
  HWY_ALIGN float sum[kTileRows * kLanes];
  HWY_ALIGN float moment[kTileRows * kLanes];  // of p * (score - max)
  HWY_ALIGN float ties[kTileRows * kLanes];
  float max[kTileRows];
  std::int64_t peak_key[kTileRows];

  // Vector by vector: a fill is a call or a string instruction, which short rows would notice.
  template <bool kStatistics>
  HWY_INLINE void Reset() {
    const FloatTag d;
    const FloatVec zero = hn::Zero(d);
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kTileRows; ++r) {
      hn::Store(zero, d, sum + r * kLanes);
      if constexpr (kStatistics) hn::Store(zero, d, moment + r * kLanes);
      if constexpr (kStatistics) hn::Store(zero, d, ties + r * kLanes);
    }
    for (std::size_t r = 0; r < kTileRows; ++r) {
      max[r] = -std::numeric_limits<float>::infinity();
      if constexpr (kStatistics) peak_key[r] = -1;
    }
  }
};

// First lane of the row that equals `value`, counted from the first tile's first key; -1: none.
HWY_INLINE std::int64_t FindScore(const float* scores, std::size_t tiles, float value) {
  const FloatTag d;
  const FloatVec wanted = hn::Set(d, value);
  for (std::size_t t = 0; t < tiles; ++t) {
    for (std::size_t v = 0; v < kTileKeys; v += kLanes) {
      const std::intptr_t lane =
          hn::FindFirstTrue(d, hn::Eq(hn::Load(d, scores + t * kTileSize + v), wanted));
      if (lane >= 0) return static_cast<std::int64_t>(t * kTileKeys + v) + lane;
    }
  }
  return -1;
}

// Scores to weights for one row of `tiles` tiles. Returns what the row folded so far must be
// multiplied by.
template <bool kStatistics>
HWY_INLINE float WeighStreaming(float* HWY_RESTRICT scores, std::size_t tiles, float block_max,
                                std::int64_t first_key, std::size_t r, GroupState& state) {
  const FloatTag d;
  const float before = state.max[r];
  const float top = block_max > before ? block_max : before;
  float rescale = 1.0f;
  FloatVec sum = hn::Load(d, state.sum + r * kLanes);
  FloatVec moment = hn::Zero(d), ties = hn::Zero(d);
  if constexpr (kStatistics) {
    moment = hn::Load(d, state.moment + r * kLanes);
    ties = hn::Load(d, state.ties + r * kLanes);
  }
  if (top > before) {
    // Nothing seen before: nothing to keep, and -inf - top must not meet 0.
    const bool first = before == -std::numeric_limits<float>::infinity();
    rescale = first ? 0.0f : std::exp(before - top);
    const FloatVec factor = hn::Set(d, rescale);
    if constexpr (kStatistics) {
      const FloatVec shift = hn::Set(d, first ? 0.0f : before - top);
      const FloatVec all = hn::Add(sum, ties);
      moment = hn::Mul(factor, hn::MulAdd(shift, all, moment));
      sum = hn::Mul(factor, all);
      ties = hn::Zero(d);
      state.peak_key[r] = first_key + FindScore(scores, tiles, top);
    } else {
      sum = hn::Mul(factor, sum);
    }
    state.max[r] = top;
  }
  // A row whose keys are all masked so far: exp(-inf - 0) = 0.
  const FloatVec shift = hn::Set(d, top == -std::numeric_limits<float>::infinity() ? 0.0f : top);
  const Exponential exponential(1.0);
  const FloatVec floor = hn::Set(d, -104.0f);  // exp is 0 there; keeps 0 * -inf out of the moment
  for (std::size_t t = 0; t < tiles; ++t, scores += kTileSize) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kTileKeys; v += kLanes) {
      const FloatVec x = hn::Sub(hn::Load(d, scores + v), shift);
      const FloatVec p = exponential(x);
      hn::Store(p, d, scores + v);
      if constexpr (kStatistics) {
        const auto is_max = hn::Eq(x, hn::Zero(d));
        sum = hn::Add(sum, hn::IfThenZeroElse(is_max, p));
        ties = hn::Add(ties, hn::IfThenElseZero(is_max, p));
        moment = hn::MulAdd(p, hn::Max(floor, x), moment);
      } else {
        sum = hn::Add(sum, p);
      }
    }
  }
  hn::Store(sum, d, state.sum + r * kLanes);
  if constexpr (kStatistics) {
    hn::Store(moment, d, state.moment + r * kLanes);
    hn::Store(ties, d, state.ties + r * kLanes);
  }
  return rescale;
}

HWY_INLINE double SumLanes(const float* lanes) {
  double sum = 0.0;
  for (std::size_t l = 0; l < kLanes; ++l) sum += static_cast<double>(lanes[l]);
  return sum;
}

// The survey of row r over all keys since Reset().
template <bool kStatistics>
HWY_INLINE Survey SurveyOf(const GroupState& state, std::size_t r) {
  const double rest = SumLanes(state.sum + r * kLanes);
  const double ties = kStatistics ? SumLanes(state.ties + r * kLanes) : 0.0;
  if (rest + ties == 0.0) return {};  // every key masked
  constexpr double kPoison = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(rest + ties)) return {.max = kPoison, .tail = kPoison, .moment = kPoison};
  return {.max = static_cast<double>(state.max[r]),
          // The sum is at least 1, so that without statistics nothing is lost by taking 1 away.
          .tail = kStatistics ? rest + (ties - 1.0) : rest - 1.0,
          .moment = kStatistics ? SumLanes(state.moment + r * kLanes) : 0.0};
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_STREAMING_INL_H_
