// One pass over a row, four vectors at a time, whatever its layout; and sums that stay exact
// enough over a million keys.
#if defined(SHARPMAX_ROWS_WALK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_WALK_INL_H_
#undef SHARPMAX_ROWS_WALK_INL_H_
#else
#define SHARPMAX_ROWS_WALK_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "attention/rows/row.h"

// The bodies of a pass keep their sums in registers only if they are inlined five times over,
// which a compiler does not do by itself.
#ifndef SHARPMAX_PASS
#define SHARPMAX_PASS HWY_ATTR __attribute__((always_inline))
#endif

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using HalfTag = hn::Half<FloatTag>;
using DoubleTag = hn::Rebind<double, HalfTag>;
using Floats = hn::Vec<FloatTag>;
using Ints = hn::Vec<IntTag>;
using Doubles = hn::Vec<DoubleTag>;

HWY_INLINE HWY_MAYBE_UNUSED Floats Splat(float value) { return hn::Set(FloatTag(), value); }

// Sums in float are folded into double every so many blocks of four vectors: a lane adds at most
// this many terms in float, so it errs by at most kFoldBlocks * 2^-24, in practice by its root.
inline constexpr std::size_t kFoldBlocks = 64;

// The blocks of a row: vector k of a block starts at offsets[k] from the block's first.
struct Blocks {
  std::size_t runs = 1, run_stride = 0;
  std::size_t blocks = 0, step = 0;
  std::size_t offsets[4] = {};
  std::size_t rest = 0;  // vectors after the last whole block of a run
};

HWY_INLINE HWY_MAYBE_UNUSED Blocks blocks_of(const ScoreRow& row) {
  const std::size_t n = hn::Lanes(FloatTag());
  Blocks b;
  if (row.stride != row.lanes && row.lanes == n) {
    b.blocks = row.chunks / 4;
    b.rest = row.chunks % 4;
    b.step = 4 * row.stride;
    for (std::size_t k = 0; k < 4; ++k) b.offsets[k] = k * row.stride;
  } else if (row.stride != row.lanes && row.lanes == 2 * n) {
    b.blocks = row.chunks / 2;
    b.rest = 2 * (row.chunks % 2);
    b.step = 2 * row.stride;
    for (std::size_t k = 0; k < 4; ++k) b.offsets[k] = (k / 2) * row.stride + (k % 2) * n;
  } else {
    const bool dense = row.stride == row.lanes || row.chunks == 1;
    const std::size_t vectors = (dense ? row.chunks * row.lanes : row.lanes) / n;
    b.runs = dense ? 1 : row.chunks;
    b.run_stride = row.stride;
    b.blocks = vectors / 4;
    b.rest = vectors % 4;
    b.step = 4 * n;
    for (std::size_t k = 0; k < 4; ++k) b.offsets[k] = k * n;
    if (!dense && b.rest == 0 && b.blocks == 1) {  // a chunk is a block: one run of them
      b.runs = 1;
      b.blocks = row.chunks;
      b.step = row.stride;
    }
  }
  return b;
}

// body(k, data, index): the vector at `data` holds keys index, index + 1, ...; k in 0..3 tells
// independent accumulators apart. fold() runs every kFoldBlocks blocks and at the end.
template <class Body, class Fold>
HWY_INLINE void walk(const ScoreRow& row, const Body& body, const Fold& fold) {
  const std::size_t n = hn::Lanes(FloatTag());
  const Blocks b = blocks_of(row);
  std::size_t index = 0;
  for (std::size_t run = 0; run < b.runs; ++run) {
    float* data = row.data + run * b.run_stride;
    for (std::size_t done = 0; done < b.blocks;) {
      const std::size_t until = HWY_MIN(b.blocks, done + kFoldBlocks);
      for (; done < until; ++done) {
        body(0, data, index);
        body(1, data + b.offsets[1], index + n);
        body(2, data + b.offsets[2], index + 2 * n);
        body(3, data + b.offsets[3], index + 3 * n);
        data += b.step;
        index += 4 * n;
      }
      if (done < b.blocks) fold();
    }
    for (std::size_t k = 0; k < b.rest; ++k) {
      body(0, data + b.offsets[k], index);
      index += n;
    }
    fold();
  }
}
template <class Body>
HWY_INLINE void walk(const ScoreRow& row, const Body& body) {
  walk(row, body, []() SHARPMAX_PASS {});
}

// Each double is the sum of two of the floats.
HWY_INLINE HWY_MAYBE_UNUSED Doubles widened_sum(Floats v) {
  const DoubleTag d;
#if HWY_TARGET == HWY_SCALAR
  return hn::PromoteTo(d, v);
#else
  const HalfTag half;
  return hn::Add(hn::PromoteTo(d, hn::LowerHalf(half, v)), hn::PromoteTo(d, hn::UpperHalf(half, v)));
#endif
}

// A sum over a row: four accumulators in float, folded into double.
struct RowSum {
  Floats part[4];
  Doubles total;

  // Written out: the compiler's own would be compiled for the wrong instruction set.
  HWY_INLINE RowSum() {
    for (Floats& p : part) p = hn::Zero(FloatTag());
    total = hn::Zero(DoubleTag());
  }
  HWY_INLINE void add(std::size_t k, Floats value) { part[k] = hn::Add(part[k], value); }
  HWY_INLINE void add_product(std::size_t k, Floats a, Floats b) { part[k] = hn::MulAdd(a, b, part[k]); }
  HWY_INLINE void fold() {
    const Doubles first = hn::Add(widened_sum(part[0]), widened_sum(part[1]));
    const Doubles second = hn::Add(widened_sum(part[2]), widened_sum(part[3]));
    total = hn::Add(total, hn::Add(first, second));
    for (Floats& p : part) p = hn::Zero(FloatTag());
  }
  HWY_INLINE double value() const { return hn::GetLane(hn::SumOfLanes(DoubleTag(), total)); }
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
