// Many tokens times weights that are whole numbers: tiles as in tiles.cc, summed as integers. See kernels.h.
//
// A token's inputs become 16-bit integers, 32 of them with one scale: amax / 32767. A pair of neighboring inputs fills a
// lane, and one instruction multiplies both pairs and adds the products: twice the rate of floats. Sums of a group are
// exact: 32 products of at most 128 x 32767, or 16 of at most 128 x 32767, are far below 2^31. Then they meet their scales
// as floats.
#include <atomic>
#include <cstring>

#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/whole_tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/tiles-inl.h"

#ifndef SHARPMAX_MODEL_USE_VNNI
#define SHARPMAX_MODEL_USE_VNNI
namespace sharpmax::model {
inline std::atomic<bool> vnni_wanted{true};
}
#endif

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

using WholeTag = hn::RebindToSigned<FloatTag>;
using WholeVec = hn::Vec<WholeTag>;
constexpr std::size_t kPairs = kScaledTogether / 2;
constexpr std::size_t kScaleRows = 3;  // scale, and two sums

std::size_t WholePackedPairs(std::int64_t tokens, std::int64_t inputs) {
  return static_cast<std::size_t>(PanelsOf(tokens) * inputs) / 2 * kTileTokens;
}
std::size_t WholePackedScales(std::int64_t tokens, std::int64_t inputs) {
  return static_cast<std::size_t>(PanelsOf(tokens) * inputs / kScaledTogether) * kScaleRows * kTileTokens;
}

// 32 floats as integers times scale[0], and the sums of either half of those times the scale.
HWY_INLINE bool RoundToWhole(const float* from, std::int32_t* pairs, float (&scale)[kScaleRows]) {
  const FloatTag d;
  const WholeTag di;
  const hn::Rebind<std::int16_t, WholeTag> d16;
  // Magnitudes are ordered as their bits are, and what is not finite is the largest.
  const WholeVec sign = hn::Set(di, 0x7fffffff);
  WholeVec most = hn::Zero(di);
  for (std::size_t i = 0; i < kScaledTogether; i += kLanes)
    most = hn::Max(most, hn::And(hn::BitCast(di, hn::LoadU(d, from + i)), sign));
  const std::int32_t bits = hn::GetLane(hn::MaxOfLanes(di, most));
  float largest;
  std::memcpy(&largest, &bits, sizeof largest);
  constexpr float kLeast = 1e-34f;  // 32767 / it is finite
  if (bits >= 0x7f800000 || (largest > 0 && largest < kLeast)) return false;
  const FloatVec inverse = hn::Set(d, largest > 0 ? 32767.0f / largest : 0.0f);
  std::int32_t sums[2] = {0, 0};
  for (std::size_t half = 0; half < 2; ++half) {
    WholeVec sum = hn::Zero(di);
    for (std::size_t i = half * 16; i < half * 16 + 16; i += kLanes) {
      const WholeVec q = hn::NearestInt(hn::Mul(hn::LoadU(d, from + i), inverse));
      sum = hn::Add(sum, q);
      const auto small = hn::DemoteTo(d16, q);
#if HWY_TARGET == HWY_SCALAR
      const std::int16_t number = hn::GetLane(small);
      std::memcpy(reinterpret_cast<char*>(pairs) + 2 * i, &number, sizeof number);
#else
      hn::StoreU(small, d16, reinterpret_cast<std::int16_t*>(pairs) + i);
#endif
    }
    sums[half] = hn::GetLane(hn::SumOfLanes(di, sum));
  }
  scale[0] = largest / 32767.0f;
  scale[1] = scale[0] * static_cast<float>(sums[0]);
  scale[2] = scale[0] * static_cast<float>(sums[1]);
  return true;
}

// to[k * width + t] = from[t][k]: 16 pairs of inputs of some tokens, turned over.
HWY_INLINE void TurnPairs(const std::int32_t (*from)[kPairs], std::size_t width, std::int32_t* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t t = 0; t < width; ++t)
    for (std::size_t k = 0; k < kPairs; ++k) to[k * width + t] = from[t][k];
#else
  const hn::Full128<std::int32_t> d4;
  const hn::Repartition<std::int64_t, decltype(d4)> d2;
  for (std::size_t t = 0; t < width; t += 4) {  // width is whole vectors
    for (std::size_t k = 0; k < kPairs; k += 4) {
      const auto a = hn::Load(d4, from[t] + k), b = hn::Load(d4, from[t + 1] + k);
      const auto c = hn::Load(d4, from[t + 2] + k), e = hn::Load(d4, from[t + 3] + k);
      const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(d4, a, b)), ce_low = hn::BitCast(d2, hn::InterleaveLower(d4, c, e));
      const auto ab_high = hn::BitCast(d2, hn::InterleaveUpper(d4, a, b)), ce_high = hn::BitCast(d2, hn::InterleaveUpper(d4, c, e));
      std::int32_t* const at = to + k * width + t;
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab_low, ce_low)), d4, at);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab_low, ce_low)), d4, at + width);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, ab_high, ce_high)), d4, at + 2 * width);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, ab_high, ce_high)), d4, at + 3 * width);
    }
  }
#endif
}

// The last token stands in for those that fill up the last vector: nobody reads their sums.
bool PackWholeTokens(const WholeTokens& all, std::int64_t panel, std::int64_t first_input, std::int64_t end_input) {
  const std::int64_t first = panel * static_cast<std::int64_t>(kTileTokens);
  const std::size_t width = PanelVectors(static_cast<std::size_t>(all.tokens - first)) * kLanes;
  float* const scales = all.scales + static_cast<std::size_t>(panel * all.inputs / kScaledTogether) * kScaleRows * kTileTokens;
  std::int32_t* const packed = all.packed + static_cast<std::size_t>(panel * all.inputs) / 2 * kTileTokens;
  HWY_ALIGN std::int32_t pairs[kTileTokens][kPairs];
  for (std::int64_t input = first_input; input < end_input; input += kScaledTogether) {
    const auto block = static_cast<std::size_t>(input / kScaledTogether);
    for (std::size_t t = 0; t < width; ++t) {
      float scale[kScaleRows];
      const std::int64_t token = std::min(first + static_cast<std::int64_t>(t), all.tokens - 1);
      if (!RoundToWhole(all.in + token * all.in_stride + input, pairs[t], scale)) return false;
      for (std::size_t i = 0; i < kScaleRows; ++i) scales[(block * kScaleRows + i) * width + t] = scale[i];
    }
    TurnPairs(pairs, width, packed + block * kPairs * width);
  }
  return true;
}

// sum + the products of both pairs in each lane.
struct MultiplyAndAdd {
  static HWY_INLINE WholeVec Of(WholeVec x, WholeVec w, WholeVec sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
    const hn::Repartition<std::int16_t, WholeTag> d16;
    WholeVec unused = sum;
    return hn::ReorderWidenMulAccumulate(WholeTag(), hn::BitCast(d16, x), hn::BitCast(d16, w), sum, unused);
#else
    const auto upper = hn::Mul(hn::ShiftRight<16>(x), hn::ShiftRight<16>(w));
    const auto lower = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(x)), hn::ShiftRight<16>(hn::ShiftLeft<16>(w)));
    return hn::Add(sum, hn::Add(upper, lower));
#endif
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// The same in one instruction. Highway has no target with it that compiles here, so it is named.
struct Vnni {
  static HWY_INLINE WholeVec Of(WholeVec x, WholeVec w, WholeVec sum) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
    return sum;
  }
};
#endif

// tile[r][t] += sum over the groups of (sum of whole numbers) scale[r] scale[t] + offset[r] (sum of the token's inputs)
template <std::size_t kRows, std::size_t kVectors, bool kOffset, class Dot>
HWY_INLINE void MultiplyWholeTile(const WholePanelTask& task, std::size_t row, const std::int32_t* HWY_RESTRICT tokens,
                                  const float* HWY_RESTRICT token_scales, float* HWY_RESTRICT tile) {
  const FloatTag d;
  const WholeTag di;
  constexpr std::size_t kWidth = kVectors * kLanes;
  const auto* weights = reinterpret_cast<const char*>(task.panel.numbers + static_cast<std::int64_t>(row) * kWholeStride);
  const float* scales = task.panel.scales + static_cast<std::int64_t>(row) * kWholeGroups;
  const float* offsets = task.panel.offsets + static_cast<std::int64_t>(row) * kWholeGroups;
  const std::size_t pairs = task.group / 2;
  for (std::size_t input = 0; input < task.depth; input += task.group) {
    WholeVec sum[kRows][kVectors];
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(di);
    }
#pragma GCC unroll 1
    for (std::size_t k = 0; k < pairs; ++k) {
      WholeVec x[kVectors];
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) x[v] = hn::Load(di, tokens + v * kLanes);
      SHARPMAX_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, weights + r * kWholeStride * sizeof(std::int16_t), sizeof pair);
        const WholeVec w = hn::Set(di, pair);
        SHARPMAX_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = Dot::Of(x[v], w, sum[r][v]);
      }
      weights += sizeof(std::int32_t);
      tokens += kWidth;
    }
    const float* at = token_scales + input / kScaledTogether * kScaleRows * kWidth;
    FloatVec scale[kVectors], total[kVectors];
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      scale[v] = hn::Load(d, at + v * kLanes);
      if constexpr (kOffset) {
        const FloatVec first = hn::Load(d, at + kWidth + v * kLanes), second = hn::Load(d, at + 2 * kWidth + v * kLanes);
        total[v] = task.group == kScaledTogether ? hn::Add(first, second) : input % kScaledTogether == 0 ? first : second;
      }
    }
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const FloatVec times = hn::Set(d, scales[r * kWholeGroups]);
      FloatVec plus;
      if constexpr (kOffset) plus = hn::Set(d, offsets[r * kWholeGroups]);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        float* const to = tile + r * kTileTokens + v * kLanes;
        FloatVec so_far = hn::Load(d, to);
        if constexpr (kOffset) so_far = hn::MulAdd(plus, total[v], so_far);
        hn::Store(hn::MulAdd(hn::Mul(hn::ConvertTo(d, sum[r][v]), times), scale[v], so_far), d, to);
      }
    }
    ++scales, ++offsets;
  }
}

template <std::size_t kVectors, bool kOffset, class Dot>
HWY_INLINE void MultiplyWholeRows(std::size_t rows, const WholePanelTask& task, std::size_t row, const std::int32_t* tokens,
                                  const float* scales, float* tile) {
  if constexpr (kTileRows > 4) {
    if (rows > 8) return MultiplyWholeTile<12, kVectors, kOffset, Dot>(task, row, tokens, scales, tile);
    if (rows > 4) return MultiplyWholeTile<8, kVectors, kOffset, Dot>(task, row, tokens, scales, tile);
  }
  return MultiplyWholeTile<4, kVectors, kOffset, Dot>(task, row, tokens, scales, tile);
}

template <bool kOffset, class Dot>
HWY_NOINLINE void MultiplyWholePanelBy(const WholePanelTask& task) {
  const WholeTokens& all = *task.tokens;
  float* tile = task.tiles;
  for (std::int64_t p = 0; p < PanelsOf(all.tokens); ++p) {
    const std::int64_t first = p * static_cast<std::int64_t>(kTileTokens);
    const auto left = static_cast<std::size_t>(all.tokens - first);
    const std::size_t vectors = PanelVectors(left), width = vectors * kLanes;
    const std::int32_t* tokens = all.packed + static_cast<std::size_t>(p * all.inputs) / 2 * kTileTokens +
                                 static_cast<std::size_t>(task.first_input) / 2 * width;
    const float* scales = all.scales +
                          static_cast<std::size_t>(p * all.inputs / kScaledTogether) * kScaleRows * kTileTokens +
                          static_cast<std::size_t>(task.first_input / kScaledTogether) * kScaleRows * width;
    for (std::size_t r = 0; r < task.rows; r += kTileRows, tile += kTileRows * kTileTokens) {
      const std::size_t count = std::min(kTileRows, task.rows - r);
      if (task.first_input == 0) std::fill_n(tile, kTileRows * kTileTokens, 0.0f);
      if (vectors == 1) {
        MultiplyWholeRows<1, kOffset, Dot>(count, task, r, tokens, scales, tile);
      } else if (vectors == 2) {
        MultiplyWholeRows<2, kOffset, Dot>(count, task, r, tokens, scales, tile);
      } else if constexpr (kTileVectors > 2) {
        MultiplyWholeRows<3, kOffset, Dot>(count, task, r, tokens, scales, tile);
      }
      if (!task.last) continue;
      WriteTile(tile, count, std::min(left, kTileTokens), task.bias + r,
                task.out + first * task.out_stride + static_cast<std::int64_t>(r), task.out_stride);
    }
  }
}

void MultiplyWholePanel(const WholePanelTask& task) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if (vnni_wanted && __builtin_cpu_supports("avx512vnni"))
    return task.offset ? MultiplyWholePanelBy<true, Vnni>(task) : MultiplyWholePanelBy<false, Vnni>(task);
#endif
  return task.offset ? MultiplyWholePanelBy<true, MultiplyAndAdd>(task) : MultiplyWholePanelBy<false, MultiplyAndAdd>(task);
}

std::size_t WholeTileFloats(std::size_t rows, std::int64_t tokens) { return FloatsOfTiles(rows, tokens); }

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

void use_vnni(bool use) noexcept { vnni_wanted = use; }

HWY_EXPORT(WholePackedPairs);
HWY_EXPORT(WholePackedScales);
HWY_EXPORT(PackWholeTokens);
HWY_EXPORT(WholeTileFloats);
HWY_EXPORT(MultiplyWholePanel);

std::size_t whole_packed_floats(std::int64_t tokens, std::int64_t inputs) {
  return HWY_DYNAMIC_DISPATCH(WholePackedPairs)(tokens, inputs) + HWY_DYNAMIC_DISPATCH(WholePackedScales)(tokens, inputs);
}

void place_whole_tokens(WholeTokens& tokens, float* memory) {
  tokens.packed = reinterpret_cast<std::int32_t*>(memory);
  tokens.scales = memory + HWY_DYNAMIC_DISPATCH(WholePackedPairs)(tokens.tokens, tokens.inputs);
}

bool pack_whole_tokens(const WholeTokens& tokens, std::int64_t panel, std::int64_t first_input, std::int64_t end_input) {
  return HWY_DYNAMIC_DISPATCH(PackWholeTokens)(tokens, panel, first_input, end_input);
}

namespace {

std::int64_t whole_rows(std::int64_t rows) { return (rows + 3) / 4 * 4; }  // of the last tile

std::size_t whole_numbers(std::int64_t rows) {  // in floats
  return static_cast<std::size_t>(whole_rows(rows) * kWholeStride) * sizeof(std::int16_t) / sizeof(float);
}

std::size_t whole_scales(std::int64_t rows) { return static_cast<std::size_t>(whole_rows(rows) * kWholeGroups); }

}  // namespace

std::size_t whole_panel_floats(std::int64_t rows, std::int64_t tokens) {
  const auto count = static_cast<std::size_t>(rows);
  return whole_numbers(rows) + 2 * whole_scales(rows) + HWY_DYNAMIC_DISPATCH(WholeTileFloats)(count, tokens) + count;
}

void multiply_whole_rows(const ProductTerm& term, std::int64_t begin, std::int64_t end, const WholeTokens& tokens,
                         float* panel) {
  const std::int64_t rows = end - begin, inputs = tokens.inputs;
  const TypeLayout& layout = layout_of(term.weight.type);
  const std::int64_t unit = std::max<std::int64_t>(kScaledTogether, layout.block);
  const std::int64_t parts = (inputs + kWholeDepth - 1) / kWholeDepth;
  const std::int64_t depth = ((inputs + parts - 1) / parts + unit - 1) / unit * unit;
  WholeRows whole{reinterpret_cast<std::int16_t*>(panel), panel + whole_numbers(rows),
                  panel + whole_numbers(rows) + whole_scales(rows)};
  std::fill_n(panel, whole_numbers(rows) + 2 * whole_scales(rows), 0.0f);  // for the rows that fill up the last tile
  float* const tiles = whole.offsets + whole_scales(rows);
  float* const no_bias = tiles + HWY_DYNAMIC_DISPATCH(WholeTileFloats)(static_cast<std::size_t>(rows), tokens.tokens);
  std::fill_n(no_bias, rows, 0.0f);
  WholePanelTask task{.panel = whole,
                      .rows = static_cast<std::size_t>(rows),
                      .group = static_cast<std::size_t>(layout.group),
                      .offset = layout.offset,
                      .tokens = &tokens,
                      .bias = term.bias == nullptr ? no_bias : term.bias + begin,
                      .tiles = tiles,
                      .out = term.out + begin,
                      .out_stride = term.out_stride};
  for (std::int64_t first = 0; !task.last; first += depth) {
    const std::int64_t count = std::min(depth, inputs - first);
    unpack_panel({.weight = &term.weight, .begin = begin, .end = end, .first = first, .count = count, .whole = &whole});
    task.first_input = first;
    task.depth = static_cast<std::size_t>(count);
    task.last = first + count == inputs;
    HWY_DYNAMIC_DISPATCH(MultiplyWholePanel)(task);
  }
}

}  // namespace sharpmax::model
#endif  // HWY_ONCE
