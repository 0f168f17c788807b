// Soft-capped scores: c tanh(e / c), tile by tile and out of line, so that calls without a cap run the
// code that they always did but for one branch a tile.
#if defined(SHARPMAX_SOFT_CAP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_SOFT_CAP_INL_H_
#undef SHARPMAX_SOFT_CAP_INL_H_
#else
#define SHARPMAX_SOFT_CAP_INL_H_
#endif

#include <span>

#include "attention/kernels/block.h"
#include "attention/kernels/tile-inl.h"
#include "attention/rows/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// `count` scores of one row, whole vectors, in place.
static HWY_NOINLINE HWY_MAYBE_UNUSED void CapScores(double cap, float* HWY_RESTRICT scores,
                                                    std::size_t count) {
  const FloatTag d;
  const SoftCap soft_cap(cap);
  for (std::size_t i = 0; i < count; i += kLanes) hn::Store(soft_cap(hn::Load(d, scores + i)), d, scores + i);
}

// The scores of a tile, which hold beta e: capped at beta c they are beta times e capped at c.
// `slopes` (a tile): what a step of e moves its capped score by; null: not wanted.
static HWY_NOINLINE HWY_MAYBE_UNUSED void CapTile(double cap, std::span<const BlockRow> rows,
                                                  float* HWY_RESTRICT tile, float* HWY_RESTRICT slopes) {
  const FloatTag d;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (slopes == nullptr) {
      CapScores(rows[r].beta * cap, tile + r * kTileKeys, kTileKeys);
      continue;
    }
    const SoftCap soft_cap(rows[r].beta * cap);
    for (std::size_t at = r * kTileKeys; at < (r + 1) * kTileKeys; at += kLanes) {
      FloatVec slope;
      hn::Store(soft_cap(hn::Load(d, tile + at), slope), d, tile + at);
      hn::Store(slope, d, slopes + at);
    }
  }
}

// Gradients of capped scores to those of plain ones, for the first `rows` rows of `tiles` tiles.
static HWY_NOINLINE HWY_MAYBE_UNUSED void ThroughCap(const float* HWY_RESTRICT slopes, std::size_t tiles,
                                                     std::size_t rows, float* HWY_RESTRICT d_scores) {
  const FloatTag d;
  for (std::size_t t = 0; t < tiles; ++t, slopes += kTileSize, d_scores += kTileSize) {
    for (std::size_t at = 0; at < rows * kTileKeys; at += kLanes) {
      const FloatVec gradient = hn::Load(d, d_scores + at);
      // A masked key has gradient 0 and may have had any score, NaN included.
      const FloatVec through = hn::Mul(gradient, hn::Load(d, slopes + at));
      hn::Store(hn::IfThenZeroElse(hn::Eq(gradient, hn::Zero(d)), through), d, d_scores + at);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_SOFT_CAP_INL_H_
