// Packing: inputs of any type and stride become the aligned float panels that tiles read.
#if defined(SHARPMAX_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_PACK_INL_H_
#undef SHARPMAX_PACK_INL_H_
#else
#define SHARPMAX_PACK_INL_H_
#endif

#include <cmath>
#include <cstring>
#include <limits>

#include "attention/tiles/tile-inl.h"
#include "base/float16.h"
#include "sharpmax/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Bytes of the element at `offset` elements.
HWY_INLINE const std::uint8_t* At(const void* data, DType dtype, std::int64_t offset) {
  return static_cast<const std::uint8_t*>(data) + offset * static_cast<std::int64_t>(size_of(dtype));
}

template <class Half>  // hwy::bfloat16_t or hwy::float16_t
HWY_INLINE void PromoteHalves(const std::uint8_t* from, std::size_t count, float* HWY_RESTRICT to) {
  const FloatTag d;
  const hn::Rebind<Half, FloatTag> dh;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, reinterpret_cast<const Half*>(from) + i)), d, to + i);
  }
  if (i == count) return;
  alignas(128) Half rest[kLanes] = {};
  alignas(128) float wide[kLanes];
  std::memcpy(rest, from + i * sizeof(Half), (count - i) * sizeof(Half));
  hn::Store(hn::PromoteTo(d, hn::Load(dh, rest)), d, wide);
  std::memcpy(to + i, wide, (count - i) * sizeof(float));
}

// `count` contiguous elements as floats.
HWY_INLINE void ReadFloats(const void* data, DType dtype, std::int64_t offset, std::size_t count,
                           float* HWY_RESTRICT to) {
  const std::uint8_t* from = At(data, dtype, offset);
  switch (dtype) {
    case DType::float32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case DType::bfloat16:
      return PromoteHalves<hwy::bfloat16_t>(from, count, to);
    case DType::float16:
#if HWY_TARGET <= HWY_AVX2
      return PromoteHalves<hwy::float16_t>(from, count, to);
#else  // without F16C Highway's conversion takes inf and NaN for numbers
      for (std::size_t i = 0; i < count; ++i) to[i] = to_float(reinterpret_cast<const float16*>(from)[i]);
      return;
#endif
    case DType::float64:  // the oracle's; never here
      return;
  }
}

// A bias at or below this is a mask.
HWY_INLINE float HalfLowest(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return -65504.0f / 2;
    case DType::bfloat16:
      return -3.3895313892515355e38f / 2;
    default:
      return -std::numeric_limits<float>::max() / 2;
  }
}

// phi = elu + 1, the feature map of linear attention.
HWY_INLINE void FeatureMap(float* row, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) row[i] = row[i] > 0.0f ? row[i] + 1.0f : std::exp(row[i]);
}

// to[k * to_stride + r] = from[r][k] for `rows` rows: the transpose that both operands need. Rows
// are given by pointers, so they may come from anywhere.
HWY_INLINE void TransposeRows(const float* const* from, std::size_t rows, std::size_t depth,
                              std::size_t to_stride, float* HWY_RESTRICT to) {
  std::size_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Full128<float> d4;
  const hn::Repartition<double, decltype(d4)> d2;
  for (; r + 4 <= rows; r += 4) {
    std::size_t k = 0;
    for (; k + 4 <= depth; k += 4) {
      const auto a = hn::LoadU(d4, from[r] + k);
      const auto b = hn::LoadU(d4, from[r + 1] + k);
      const auto c = hn::LoadU(d4, from[r + 2] + k);
      const auto e = hn::LoadU(d4, from[r + 3] + k);
      const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(d4, a, b));
      const auto ce_low = hn::BitCast(d2, hn::InterleaveLower(d4, c, e));
      const auto ab_high = hn::BitCast(d2, hn::InterleaveUpper(d4, a, b));
      const auto ce_high = hn::BitCast(d2, hn::InterleaveUpper(d4, c, e));
      float* at = to + k * to_stride + r;
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab_low, ce_low)), d4, at);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab_low, ce_low)), d4, at + to_stride);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab_high, ce_high)), d4, at + 2 * to_stride);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab_high, ce_high)), d4, at + 3 * to_stride);
    }
    for (; k < depth; ++k) {
      for (std::size_t i = 0; i < 4; ++i) to[k * to_stride + r + i] = from[r + i][k];
    }
  }
#endif
  for (; r < rows; ++r) {
    for (std::size_t k = 0; k < depth; ++k) to[k * to_stride + r] = from[r][k];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_PACK_INL_H_
