// Many tokens: register tiles of kTileRows outputs x up to kTileVectors vectors of tokens. See kernels.h.
//
// Vectors lie along tokens, so weights need no transposing (each is broadcast from its unpacked row) and
// activations are transposed once a call. What a tile leaves is transposed into the outputs: a tile costs
// depth x rows x tokens products and only rows x tokens of those moves.
#include <algorithm>

#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/tiles.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/kernels/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using sharpmax::HWY_NAMESPACE::FloatTag;
using sharpmax::HWY_NAMESPACE::FloatVec;
using sharpmax::HWY_NAMESPACE::kLanes;
using sharpmax::HWY_NAMESPACE::TransposeRows;

// Sums are rows x vectors; the vectors of activations and one broadcast weight must fit beside them: 24 + 3
// of 32 registers with AVX-512, 12 + 4 of 16 without. Rows are a multiple of four, as outputs are moved in
// fours.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kTileRows = 12, kTileVectors = 2;
#else
constexpr std::size_t kTileRows = 4, kTileVectors = 3;
#endif
constexpr std::size_t kTileTokens = kTileVectors * kLanes;

std::int64_t TokenPanels(std::int64_t tokens) {
  constexpr auto kTokens = static_cast<std::int64_t>(kTileTokens);
  return (tokens + kTokens - 1) / kTokens;
}

// Vectors of a panel that has `tokens` left.
HWY_INLINE std::size_t PanelVectors(std::size_t tokens) {
  return std::min(kTileVectors, (tokens + kLanes - 1) / kLanes);
}

std::size_t PackedFloats(std::int64_t tokens, std::int64_t inputs) {
  return static_cast<std::size_t>(TokenPanels(tokens) * inputs) * kTileTokens;
}

// The last token stands in for those that fill up the last vector: nobody reads their sums.
void PackTokens(const PackedTokens& all, std::int64_t panel, std::int64_t first_input,
                std::int64_t end_input) {
  const std::int64_t first = panel * static_cast<std::int64_t>(kTileTokens);
  const std::size_t width = PanelVectors(static_cast<std::size_t>(all.tokens - first)) * kLanes;
  const float* rows[kTileTokens];
  for (std::size_t t = 0; t < width; ++t) {
    rows[t] =
        all.in + std::min(first + static_cast<std::int64_t>(t), all.tokens - 1) * all.in_stride + first_input;
  }
  float* to = all.packed + static_cast<std::size_t>(panel * all.inputs) * kTileTokens +
              static_cast<std::size_t>(first_input) * width;
  TransposeRows(rows, width, static_cast<std::size_t>(end_input - first_input), width, to);
}

// tile[r][t] = sum_k weights[r][k] tokens[k][t]
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyTile(const float* HWY_RESTRICT weights, const float* HWY_RESTRICT tokens,
                             std::size_t depth, float* HWY_RESTRICT tile) {
  const FloatTag d;
  FloatVec sum[kRows][kVectors];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
#pragma GCC unroll 1
  for (std::size_t k = 0; k < depth; ++k) {
    FloatVec x[kVectors];
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) x[v] = hn::Load(d, tokens + v * kLanes);
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const FloatVec w = hn::Set(d, weights[r * kPanelStride]);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(w, x[v], sum[r][v]);
    }
    ++weights;
    tokens += kVectors * kLanes;
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, tile + r * kTileTokens + v * kLanes);
  }
}

template <std::size_t kVectors>
HWY_INLINE void MultiplyTile(std::size_t rows, const float* weights, const float* tokens, std::size_t depth,
                             float* tile) {
  if constexpr (kTileRows > 4) {
    if (rows > 8) return MultiplyTile<12, kVectors>(weights, tokens, depth, tile);
    if (rows > 4) return MultiplyTile<8, kVectors>(weights, tokens, depth, tile);
  }
  return MultiplyTile<4, kVectors>(weights, tokens, depth, tile);
}

HWY_INLINE void MultiplyTile(std::size_t rows, std::size_t vectors, const float* weights, const float* tokens,
                             std::size_t depth, float* tile) {
  if constexpr (kTileVectors > 2) {
    if (vectors == 3) return MultiplyTile<3>(rows, weights, tokens, depth, tile);
  }
  if (vectors == 2) return MultiplyTile<2>(rows, weights, tokens, depth, tile);
  return MultiplyTile<1>(rows, weights, tokens, depth, tile);
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

// out[t][r] = before[t * before_stride + r] + tile[r][t]: before is the bias, with stride 0, or out itself.
HWY_INLINE void AddTile(const float* tile, std::size_t rows, std::size_t tokens, const float* before,
                        std::int64_t before_stride, float* out, std::int64_t out_stride) {
  std::size_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  const FourTag d;
  for (; r + 4 <= rows; r += 4) {
    const float* from = before + r;
    float* to = out + r;
    std::size_t t = 0;
    for (; t + 4 <= tokens; t += 4) {
      hn::Vec<FourTag> turned[4];
      TurnFour(tile + r * kTileTokens + t, turned);
      SHARPMAX_UNROLL
      for (std::size_t i = 0; i < 4; ++i, from += before_stride, to += out_stride) {
        hn::StoreU(hn::Add(hn::LoadU(d, from), turned[i]), d, to);
      }
    }
    for (; t < tokens; ++t, from += before_stride, to += out_stride) {
      for (std::size_t i = 0; i < 4; ++i) to[i] = from[i] + tile[(r + i) * kTileTokens + t];
    }
  }
#endif
  for (; r < rows; ++r) {
    for (std::size_t t = 0; t < tokens; ++t) {
      const auto token = static_cast<std::int64_t>(t);
      out[token * out_stride + static_cast<std::int64_t>(r)] =
          before[token * before_stride + static_cast<std::int64_t>(r)] + tile[r * kTileTokens + t];
    }
  }
}

// All tokens times `rows` rows of one panel, added to the bias; or to what there is, where there is none.
void MultiplyPanel(const float* panel, std::size_t rows, const PackedTokens& all, std::int64_t first_input,
                   std::size_t depth, const float* bias, float* out, std::int64_t out_stride) {
  HWY_ALIGN float tile[kTileRows * kTileTokens];
  for (std::int64_t p = 0; p < TokenPanels(all.tokens); ++p) {
    const std::int64_t first = p * static_cast<std::int64_t>(kTileTokens);
    const auto left = static_cast<std::size_t>(all.tokens - first);
    const std::size_t vectors = PanelVectors(left);
    const float* tokens = all.packed + static_cast<std::size_t>(p * all.inputs) * kTileTokens +
                          static_cast<std::size_t>(first_input) * vectors * kLanes;
    for (std::size_t r = 0; r < rows; r += kTileRows) {
      const std::size_t count = std::min(kTileRows, rows - r);
      MultiplyTile(count, vectors, panel + r * kPanelStride, tokens, depth, tile);
      float* to = out + first * out_stride + static_cast<std::int64_t>(r);
      AddTile(tile, count, std::min(left, kTileTokens), bias != nullptr ? bias + r : to,
              bias != nullptr ? 0 : out_stride, to, out_stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(TokenPanels);
HWY_EXPORT(PackedFloats);
HWY_EXPORT(PackTokens);
HWY_EXPORT(MultiplyPanel);

std::int64_t token_panels(std::int64_t tokens) { return HWY_DYNAMIC_DISPATCH(TokenPanels)(tokens); }

std::size_t packed_floats(std::int64_t tokens, std::int64_t inputs) {
  return HWY_DYNAMIC_DISPATCH(PackedFloats)(tokens, inputs);
}

void pack_tokens(const PackedTokens& tokens, std::int64_t panel, std::int64_t first_input,
                 std::int64_t end_input) {
  HWY_DYNAMIC_DISPATCH(PackTokens)(tokens, panel, first_input, end_input);
}

void multiply_rows(const ProductTerm& term, std::int64_t begin, std::int64_t end, const PackedTokens& tokens,
                   float* panel) {
  const std::int64_t rows = end - begin, inputs = tokens.inputs;
  const std::int64_t unit = std::max<std::int64_t>(32, layout_of(term.weight.type).block);
  const std::int64_t parts = std::max<std::int64_t>(1, (inputs + kPanelDepth - 1) / kPanelDepth);
  // At most kPanelDepth, and something even where there are no inputs.
  const std::int64_t depth = std::max(unit, ((inputs + parts - 1) / parts + unit - 1) / unit * unit);
  // Rows that fill up the last tile are weights of 0.
  std::fill_n(panel + rows * kPanelStride, (rows + 3) / 4 * 4 * kPanelStride - rows * kPanelStride, 0.0f);
  const std::vector<float> none(term.bias == nullptr ? static_cast<std::size_t>(rows) : 0, 0.0f);
  const float* before = term.bias == nullptr ? none.data() : term.bias + begin;
  for (std::int64_t first = 0; first == 0 || first < inputs; first += depth) {
    const std::int64_t count = std::min(depth, inputs - first);
    unpack_panel({&term.weight, begin, end, first, count, panel});
    HWY_DYNAMIC_DISPATCH(MultiplyPanel)
    (panel, static_cast<std::size_t>(rows), tokens, first, static_cast<std::size_t>(count), before,
     term.out + begin, term.out_stride);
    before = nullptr;
  }
}

}  // namespace sharpmax::model
#endif  // HWY_ONCE
