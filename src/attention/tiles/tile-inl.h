// The inner products of attention: register tiles of kTileRows queries x kTileKeys keys.
//
// Layouts, innermost last (docs/design/kernels.md draws them):
//   left operand, packed    [depth][kTileRows]           queries, output gradients
//   right operand, packed   [depth][kTileKeys]           a panel of keys, transposed
//   score tile              [kTileRows][kTileKeys]       contiguous, so that weights broadcast at
//                                                        constant offsets when they meet the values
//   values, packed          [column panel][key][width]   width = 1 or 2 vectors
#if defined(SHARPMAX_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_TILE_INL_H_
#undef SHARPMAX_TILE_INL_H_
#else
#define SHARPMAX_TILE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "attention/tiles/block.h"
#include "base/float16.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

inline constexpr std::size_t kLanes = hn::MaxLanes(FloatTag());  // x86: the exact number
inline constexpr std::size_t kTileVectors = 2;
inline constexpr std::size_t kTileKeys = kTileVectors * kLanes;
// Accumulators are rows x 2; one more pair for the right operand and one for the broadcast must
// fit: 12 x 2 + 3 of 32 registers with AVX-512, 6 x 2 + 3 of 16 without.
#if HWY_TARGET <= HWY_AVX3
inline constexpr std::size_t kTileRows = 12;
#else
inline constexpr std::size_t kTileRows = 6;
#endif
inline constexpr std::size_t kTileSize = kTileRows * kTileKeys;

#define SHARPMAX_UNROLL _Pragma("GCC unroll 16")

// tile[r][c] = sum_k left[k][r] * right[k][c]. `row_max` (one vector a row) takes the running
// lane-wise maximum of the scores, while they are still in registers.
HWY_INLINE void ScoreTile(const float* HWY_RESTRICT left, const float* HWY_RESTRICT right, std::size_t depth,
                          float* HWY_RESTRICT tile, float* HWY_RESTRICT row_max) {
  const FloatTag d;
  FloatVec sum[kTileRows][kTileVectors];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) sum[r][0] = sum[r][1] = hn::Zero(d);
  for (std::size_t k = 0; k < depth; ++k) {
    const FloatVec b0 = hn::Load(d, right);
    const FloatVec b1 = hn::Load(d, right + kLanes);
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kTileRows; ++r) {
      const FloatVec a = hn::Set(d, left[r]);
      sum[r][0] = hn::MulAdd(a, b0, sum[r][0]);
      sum[r][1] = hn::MulAdd(a, b1, sum[r][1]);
    }
    left += kTileRows;
    right += kTileKeys;
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) {
    hn::Store(sum[r][0], d, tile + r * kTileKeys);
    hn::Store(sum[r][1], d, tile + r * kTileKeys + kLanes);
  }
  if (row_max == nullptr) return;
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) {
    const FloatVec top = hn::Max(hn::Load(d, row_max + r * kLanes), hn::Max(sum[r][0], sum[r][1]));
    hn::Store(top, d, row_max + r * kLanes);
  }
}

// out[r][c] = out[r][c] * row_scale[r] + sum over `tiles` tiles of weights[r][k] * values[k][c], for
// one column panel of kVectors vectors. Tiles are kTileSize apart, values [key][width].
template <std::size_t kVectors>
HWY_INLINE void FoldTiles(const float* HWY_RESTRICT weights, std::size_t tiles, const float* HWY_RESTRICT values,
                          const float* HWY_RESTRICT row_scale, float* HWY_RESTRICT out,
                          std::size_t out_stride) {
  const FloatTag d;
  FloatVec sum[kTileRows][kVectors];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) {
    const FloatVec scale = hn::Set(d, row_scale[r]);
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[r][v] = hn::Mul(scale, hn::Load(d, out + r * out_stride + v * kLanes));
    }
  }
  for (std::size_t t = 0; t < tiles; ++t) {
    for (std::size_t k = 0; k < kTileKeys; ++k) {
      FloatVec b[kVectors];
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) b[v] = hn::Load(d, values + v * kLanes);
      SHARPMAX_UNROLL
      for (std::size_t r = 0; r < kTileRows; ++r) {
        const FloatVec a = hn::Set(d, weights[r * kTileKeys + k]);
        SHARPMAX_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
      }
      values += kVectors * kLanes;
    }
    weights += kTileSize;
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kTileRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, out + r * out_stride + v * kLanes);
  }
}

// The last step of every plan: a folded row becomes a row of the output.

// Writes a finished row: scale * folded, in the type of out.
HWY_INLINE void WriteOut(const AnyMutableTensor<4>& out, std::int64_t batch, const BlockRow& row, float scale,
                         const float* folded) {
  const auto features = static_cast<std::size_t>(out.shape[3]);
  const std::int64_t offset =
      batch * out.strides[0] + row.head * out.strides[1] + row.query * out.strides[2];
  if (out.dtype == DType::float32) {
    float* to = static_cast<float*>(out.data) + offset;
    // An empty row is 0 even where values are not finite.
    for (std::size_t i = 0; i < features; ++i) to[i] = scale == 0.0f ? 0.0f : scale * folded[i];
    return;
  }
  auto* to = static_cast<std::uint16_t*>(out.data) + offset;
  for (std::size_t i = 0; i < features; ++i) {
    const float value = scale == 0.0f ? 0.0f : scale * folded[i];
    to[i] = out.dtype == DType::bfloat16 ? to_bfloat16(value).bits : to_float16(value).bits;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_TILE_INL_H_
