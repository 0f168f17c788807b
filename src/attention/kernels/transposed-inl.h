// The other side of a product: gradients of keys and values, summed over a block's rows.
#if defined(SHARPMAX_TRANSPOSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_TRANSPOSED_INL_H_
#undef SHARPMAX_TRANSPOSED_INL_H_
#else
#define SHARPMAX_TRANSPOSED_INL_H_
#endif

#include "attention/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// out[c][v] += sum over groups g and their rows r of tiles[g][r][c] * right[g][r][v], for kKeys keys c
// of one panel and one column panel of kVectors vectors. Groups' tiles are `group_stride` floats apart;
// right is [row][width].
template <std::size_t kKeys, std::size_t kVectors>
HWY_INLINE void AddTransposed(const float* HWY_RESTRICT tiles, std::size_t groups, std::size_t group_stride,
                              const float* HWY_RESTRICT right, float* HWY_RESTRICT out, std::size_t out_stride) {
  const FloatTag d;
  FloatVec sum[kKeys][kVectors];
  SHARPMAX_UNROLL
  for (std::size_t c = 0; c < kKeys; ++c) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sum[c][v] = hn::Load(d, out + c * out_stride + v * kLanes);
  }
  for (std::size_t g = 0; g < groups; ++g, tiles += group_stride) {
    for (std::size_t r = 0; r < kTileRows; ++r, right += kVectors * kLanes) {
      FloatVec b[kVectors];
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) b[v] = hn::Load(d, right + v * kLanes);
      SHARPMAX_UNROLL
      for (std::size_t c = 0; c < kKeys; ++c) {
        const FloatVec a = hn::Set(d, tiles[r * kTileKeys + c]);
        SHARPMAX_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sum[c][v] = hn::MulAdd(a, b[v], sum[c][v]);
      }
    }
  }
  SHARPMAX_UNROLL
  for (std::size_t c = 0; c < kKeys; ++c) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sum[c][v], d, out + c * out_stride + v * kLanes);
  }
}

// All kTileKeys keys of a panel: as many at a time as a tile has rows, then the rest.
template <std::size_t kVectors>
HWY_INLINE void AddPanel(const float* tiles, std::size_t groups, std::size_t group_stride, const float* right,
                         float* out, std::size_t out_stride) {
  constexpr std::size_t kWhole = kTileKeys / kTileRows * kTileRows;
  constexpr std::size_t kRest = kTileKeys - kWhole;
  for (std::size_t c = 0; c < kWhole; c += kTileRows) {
    AddTransposed<kTileRows, kVectors>(tiles + c, groups, group_stride, right, out + c * out_stride, out_stride);
  }
  if constexpr (kRest > 0) {
    AddTransposed<kRest, kVectors>(tiles + kWhole, groups, group_stride, right, out + kWhole * out_stride,
                                   out_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_TRANSPOSED_INL_H_
