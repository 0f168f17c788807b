// What tiles of floats and of whole numbers have in common: their size, and how they are written out.
#if defined(SHARPMAX_PRODUCT_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_PRODUCT_TILES_INL_H_
#undef SHARPMAX_PRODUCT_TILES_INL_H_
#else
#define SHARPMAX_PRODUCT_TILES_INL_H_
#endif

#include <algorithm>

#include "attention/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using sharpmax::HWY_NAMESPACE::FloatTag;
using sharpmax::HWY_NAMESPACE::FloatVec;
using sharpmax::HWY_NAMESPACE::kLanes;

// Sums are rows x vectors; the vectors of activations and one broadcast weight must fit beside them: 24 + 3
// of 32 registers with AVX-512, 12 + 4 of 16 without. Rows are a multiple of four, as outputs are moved in
// fours.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kTileRows = 12, kTileVectors = 2;
#else
constexpr std::size_t kTileRows = 4, kTileVectors = 3;
#endif
constexpr std::size_t kTileTokens = kTileVectors * kLanes;

HWY_INLINE std::int64_t PanelsOf(std::int64_t tokens) {
  constexpr auto kTokens = static_cast<std::int64_t>(kTileTokens);
  return (tokens + kTokens - 1) / kTokens;
}

// Vectors of a panel that has `tokens` left.
HWY_INLINE std::size_t PanelVectors(std::size_t tokens) {
  return std::min(kTileVectors, (tokens + kLanes - 1) / kLanes);
}

#if HWY_TARGET != HWY_SCALAR
using FourTag = hn::Full128<float>;

// Four rows of four, turned over.
HWY_INLINE void TurnFour(const float* from, hn::Vec<FourTag> (&to)[4]) {
  const FourTag d;
  const hn::Repartition<double, FourTag> dd;
  const auto a = hn::Load(d, from), b = hn::Load(d, from + kTileTokens);
  const auto c = hn::Load(d, from + 2 * kTileTokens), e = hn::Load(d, from + 3 * kTileTokens);
  const auto ab_low = hn::BitCast(dd, hn::InterleaveLower(d, a, b));
  const auto ce_low = hn::BitCast(dd, hn::InterleaveLower(d, c, e));
  const auto ab_high = hn::BitCast(dd, hn::InterleaveUpper(d, a, b));
  const auto ce_high = hn::BitCast(dd, hn::InterleaveUpper(d, c, e));
  to[0] = hn::BitCast(d, hn::InterleaveLower(dd, ab_low, ce_low));
  to[1] = hn::BitCast(d, hn::InterleaveUpper(dd, ab_low, ce_low));
  to[2] = hn::BitCast(d, hn::InterleaveLower(dd, ab_high, ce_high));
  to[3] = hn::BitCast(d, hn::InterleaveUpper(dd, ab_high, ce_high));
}
#endif

// out[t][r] = tile[r][t] + bias[r]
HWY_INLINE void WriteTile(const float* tile, std::size_t rows, std::size_t tokens, const float* bias,
                          float* out, std::int64_t out_stride) {
  std::size_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const FourTag d;
  for (; r + 4 <= rows; r += 4) {
    const auto four = hn::LoadU(d, bias + r);
    float* to = out + r;
    std::size_t t = 0;
    for (; t + 4 <= tokens; t += 4) {
      hn::Vec<FourTag> turned[4];
      TurnFour(tile + r * kTileTokens + t, turned);
      SHARPMAX_UNROLL
      for (std::size_t i = 0; i < 4; ++i, to += out_stride) hn::StoreU(hn::Add(turned[i], four), d, to);
    }
    for (; t < tokens; ++t, to += out_stride) {
      for (std::size_t i = 0; i < 4; ++i) to[i] = tile[(r + i) * kTileTokens + t] + bias[r + i];
    }
  }
#endif
  for (; r < rows; ++r) {
    for (std::size_t t = 0; t < tokens; ++t) {
      out[static_cast<std::int64_t>(t) * out_stride + static_cast<std::int64_t>(r)] =
          tile[r * kTileTokens + t] + bias[r];
    }
  }
}

HWY_INLINE std::size_t FloatsOfTiles(std::size_t rows, std::int64_t tokens) {
  return (rows + kTileRows - 1) / kTileRows * static_cast<std::size_t>(PanelsOf(tokens)) * kTileRows *
         kTileTokens;
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_PRODUCT_TILES_INL_H_
