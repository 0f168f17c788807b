// Products with keys and values where they lie: rows of features, some stride apart.
#if defined(SHARPMAX_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_DOT_INL_H_
#undef SHARPMAX_DOT_INL_H_
#else
#define SHARPMAX_DOT_INL_H_
#endif

#include <cstring>

#include "attention/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Lane i of the result is the sum of v[i]'s lanes, within each 128-bit block.
HWY_INLINE FloatVec SumBlocksOfFour(FloatVec a, FloatVec b, FloatVec c, FloatVec e) {
  const FloatTag d;
  const hn::Repartition<double, FloatTag> dd;
  const FloatVec ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const FloatVec ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto ab2 = hn::BitCast(dd, ab), ce2 = hn::BitCast(dd, ce);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(dd, ab2, ce2)),
                 hn::BitCast(d, hn::InterleaveUpper(dd, ab2, ce2)));
}
#endif

// Lane i of the result is the sum of v[i]'s lanes. A template, so that only the branch of this
// vector length is compiled.
template <std::size_t kN>
HWY_INLINE FloatVec SumEach(const FloatVec* v) {
  const FloatTag d;
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  return v[0];
#else
  if constexpr (kN == 4) {
    return SumBlocksOfFour(v[0], v[1], v[2], v[3]);
  } else if constexpr (kN == 8) {
    const FloatVec low = SumBlocksOfFour(v[0], v[1], v[2], v[3]);
    const FloatVec high = SumBlocksOfFour(v[4], v[5], v[6], v[7]);
    return hn::Add(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
  } else {
    static_assert(kN == 16);
    FloatVec w[4];
    SHARPMAX_UNROLL
    for (std::size_t i = 0; i < 4; ++i) w[i] = SumBlocksOfFour(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
    const FloatVec even = hn::Add(hn::ConcatLowerLower(d, w[2], w[0]), hn::ConcatUpperUpper(d, w[2], w[0]));
    const FloatVec odd = hn::Add(hn::ConcatLowerLower(d, w[3], w[1]), hn::ConcatUpperUpper(d, w[3], w[1]));
    return hn::OddEvenBlocks(hn::Add(odd, hn::SwapAdjacentBlocks(odd)),
                             hn::Add(even, hn::SwapAdjacentBlocks(even)));
  }
#endif
}

// The first `count` floats, zeros behind them; nothing past them is read.
HWY_INLINE FloatVec LoadSome(const float* from, std::size_t count) {
  const FloatTag d;
#if HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else  // where a masked load is a whole, aligned one
  HWY_ALIGN float some[kLanes] = {};
  std::memcpy(some, from, count * sizeof(float));
  return hn::Load(d, some);
#endif
}

// Elements as floats: a vector of them, or the first `count` and zeros behind. 16-bit elements are promoted on
// their way into a register, so that memory gives half the bytes and nothing is written.
HWY_INLINE FloatVec LoadWide(const float* from) { return hn::LoadU(FloatTag(), from); }
HWY_INLINE FloatVec LoadWide(const float* from, std::size_t count) { return LoadSome(from, count); }

template <class Half>  // hwy::bfloat16_t or hwy::float16_t
HWY_INLINE FloatVec LoadWide(const Half* from) {
  const hn::Rebind<Half, FloatTag> dh;
  return hn::PromoteTo(FloatTag(), hn::LoadU(dh, from));
}
template <class Half>
HWY_INLINE FloatVec LoadWide(const Half* from, std::size_t count) {
  alignas(128) Half some[kLanes] = {};
  std::memcpy(some, from, count * sizeof(Half));
  return hn::PromoteTo(FloatTag(), hn::Load(hn::Rebind<Half, FloatTag>(), some));
}

// scores[r][i] = queries[r] . keys[i] for kRows rows and kLanes keys. Queries are padded with zeros to
// whole vectors; the last vector of a key is read only as far as the key goes. One loop over the keys,
// not unrolled: the machine's prefetchers follow the addresses of an instruction, so the same few
// instructions must walk through all of the memory (13 to 21 GB/s where memory gives 22).
template <std::size_t kRows, class Element>
HWY_INLINE void DotKeys(const float* HWY_RESTRICT queries, std::size_t query_stride,
                        const Element* HWY_RESTRICT keys, std::int64_t key_stride, std::size_t features, float* HWY_RESTRICT scores,
                        std::size_t score_stride) {
  const FloatTag d;
  HWY_ALIGN float sums[kRows * kLanes * kLanes];  // [row][key][lane]
  const std::size_t whole = features / kLanes * kLanes;
#pragma GCC unroll 1
  for (std::size_t i = 0; i < kLanes; ++i, keys += key_stride) {
    FloatVec sum[kRows];
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) sum[r] = hn::Zero(d);
#pragma GCC unroll 1
    for (std::size_t f = 0; f < whole; f += kLanes) {
      const FloatVec k = LoadWide(keys + f);
      SHARPMAX_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        sum[r] = hn::MulAdd(hn::LoadU(d, queries + r * query_stride + f), k, sum[r]);
      }
    }
    if (whole < features) {
      const FloatVec k = LoadWide(keys + whole, features - whole);
      SHARPMAX_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        sum[r] = hn::MulAdd(hn::LoadU(d, queries + r * query_stride + whole), k, sum[r]);
      }
    }
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) hn::Store(sum[r], d, sums + (r * kLanes + i) * kLanes);
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    FloatVec each[kLanes];
    SHARPMAX_UNROLL
    for (std::size_t i = 0; i < kLanes; ++i) each[i] = hn::Load(d, sums + (r * kLanes + i) * kLanes);
    hn::StoreU(SumEach<kLanes>(each), d, scores + r * score_stride);
  }
}

// out[r][v] += sum_i weights[r][i] * values[i][v] for kRows rows, kVectors vectors of features and
// `count` keys. `last`: lanes of the last vector that exist.
template <std::size_t kRows, std::size_t kVectors, class Element>
HWY_INLINE void FoldValues(const float* HWY_RESTRICT weights, std::size_t weight_stride,
                           const Element* HWY_RESTRICT values, std::int64_t value_stride, std::size_t count,
                           std::size_t last, float* HWY_RESTRICT out, std::size_t out_stride) {
  const FloatTag d;
  FloatVec sum[kRows][kVectors];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::LoadU(d, out + r * out_stride + v * kLanes);
  }
  for (std::size_t i = 0; i < count; ++i, values += value_stride) {
    FloatVec b[kVectors];
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v + 1 < kVectors; ++v) b[v] = LoadWide(values + v * kLanes);
    b[kVectors - 1] = last == kLanes ? LoadWide(values + (kVectors - 1) * kLanes)
                                     : LoadWide(values + (kVectors - 1) * kLanes, last);
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const FloatVec w = hn::Set(d, weights[r * weight_stride + i]);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(w, b[v], sum[r][v]);
    }
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, out + r * out_stride + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_DOT_INL_H_
