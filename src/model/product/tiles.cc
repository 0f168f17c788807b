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
#include "attention/tiles/pack-inl.h"
#include "model/product/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

using sharpmax::HWY_NAMESPACE::TransposeRows;

std::int64_t TokenPanels(std::int64_t tokens) { return PanelsOf(tokens); }

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

// Whether a tile begins here, or goes on from the inputs before: parts of a long row are summed by
// themselves.
enum class Start { here, before };

// tile[r][t] = sum_k weights[r][k] tokens[k][t], or += .
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyTile(const float* HWY_RESTRICT weights, const float* HWY_RESTRICT tokens,
                             std::size_t depth, Start start, float* HWY_RESTRICT tile) {
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
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* to = tile + r * kTileTokens + v * kLanes;
      if (start == Start::before) sum[r][v] = hn::Add(hn::Load(d, to), sum[r][v]);
      hn::Store(sum[r][v], d, to);
    }
  }
}

template <std::size_t kVectors>
HWY_INLINE void MultiplyTile(std::size_t rows, const float* weights, const float* tokens, std::size_t depth,
                             Start start, float* tile) {
  if constexpr (kTileRows > 4) {
    if (rows > 8) return MultiplyTile<12, kVectors>(weights, tokens, depth, start, tile);
    if (rows > 4) return MultiplyTile<8, kVectors>(weights, tokens, depth, start, tile);
  }
  return MultiplyTile<4, kVectors>(weights, tokens, depth, start, tile);
}

HWY_INLINE void MultiplyTile(std::size_t rows, std::size_t vectors, const float* weights, const float* tokens,
                             std::size_t depth, Start start, float* tile) {
  if constexpr (kTileVectors > 2) {
    if (vectors == 3) return MultiplyTile<3>(rows, weights, tokens, depth, start, tile);
  }
  if (vectors == 2) return MultiplyTile<2>(rows, weights, tokens, depth, start, tile);
  return MultiplyTile<1>(rows, weights, tokens, depth, start, tile);
}

std::size_t TileFloats(std::size_t rows, std::int64_t tokens) { return FloatsOfTiles(rows, tokens); }

// All tokens times the rows of one panel. Tiles wait in task.tiles until the last of their inputs, and only
// then are turned over into the outputs.
void MultiplyPanel(const PanelTask& task) {
  const PackedTokens& all = *task.tokens;
  float* tile = task.tiles;
  for (std::int64_t p = 0; p < TokenPanels(all.tokens); ++p) {
    const std::int64_t first = p * static_cast<std::int64_t>(kTileTokens);
    const auto left = static_cast<std::size_t>(all.tokens - first);
    const std::size_t vectors = PanelVectors(left);
    const float* tokens = all.packed + static_cast<std::size_t>(p * all.inputs) * kTileTokens +
                          static_cast<std::size_t>(task.first_input) * vectors * kLanes;
    for (std::size_t r = 0; r < task.rows; r += kTileRows, tile += kTileRows * kTileTokens) {
      const std::size_t count = std::min(kTileRows, task.rows - r);
      MultiplyTile(count, vectors, task.panel + r * kPanelStride, tokens, task.depth,
                   task.first_input == 0 ? Start::here : Start::before, tile);
      if (!task.last) continue;
      WriteTile(tile, count, std::min(left, kTileTokens), task.bias + r,
                task.out + first * task.out_stride + static_cast<std::int64_t>(r), task.out_stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

// Of the unpacked rows, which are rounded up to four.
static std::size_t panel_weights(std::int64_t rows) {
  return static_cast<std::size_t>((rows + 3) / 4 * 4 * kPanelStride);
}

HWY_EXPORT(TokenPanels);
HWY_EXPORT(PackedFloats);
HWY_EXPORT(PackTokens);
HWY_EXPORT(TileFloats);
HWY_EXPORT(MultiplyPanel);

std::int64_t token_panels(std::int64_t tokens) { return HWY_DYNAMIC_DISPATCH(TokenPanels)(tokens); }

std::size_t packed_floats(std::int64_t tokens, std::int64_t inputs) {
  return HWY_DYNAMIC_DISPATCH(PackedFloats)(tokens, inputs);
}

void pack_tokens(const PackedTokens& tokens, std::int64_t panel, std::int64_t first_input,
                 std::int64_t end_input) {
  HWY_DYNAMIC_DISPATCH(PackTokens)(tokens, panel, first_input, end_input);
}

std::size_t panel_floats(std::int64_t rows, std::int64_t tokens) {
  const auto count = static_cast<std::size_t>(rows);
  return panel_weights(rows) + count + HWY_DYNAMIC_DISPATCH(TileFloats)(count, tokens);
}

void multiply_rows(const ProductTerm& term, std::int64_t begin, std::int64_t end, const PackedTokens& tokens,
                   float* panel) {
  const std::int64_t rows = end - begin, inputs = tokens.inputs;
  const std::int64_t unit = std::max<std::int64_t>(32, layout_of(term.weight.type).block);
  const std::int64_t parts = std::max<std::int64_t>(1, (inputs + kPanelDepth - 1) / kPanelDepth);
  // At most kPanelDepth, and something even where there are no inputs.
  const std::int64_t depth = std::max(unit, ((inputs + parts - 1) / parts + unit - 1) / unit * unit);
  // Rows that fill up the last tile are weights of 0.
  std::fill(panel + rows * kPanelStride, panel + panel_weights(rows), 0.0f);
  const auto tile_floats = HWY_DYNAMIC_DISPATCH(TileFloats)(static_cast<std::size_t>(rows), tokens.tokens);
  float* tiles = panel + panel_weights(rows);
  float* no_bias = tiles + tile_floats;
  std::fill_n(no_bias, rows, 0.0f);
  PanelTask task{.panel = panel,
                 .rows = static_cast<std::size_t>(rows),
                 .tokens = &tokens,
                 .bias = term.bias == nullptr ? no_bias : term.bias + begin,
                 .tiles = tiles,
                 .out = term.out + begin,
                 .out_stride = term.out_stride};
  for (std::int64_t first = 0; !task.last; first += depth) {
    const std::int64_t count = std::min(depth, inputs - first);
    unpack_panel({&term.weight, begin, end, first, count, panel});
    task.first_input = first;
    task.depth = static_cast<std::size_t>(count);
    task.last = first + count == inputs;
    HWY_DYNAMIC_DISPATCH(MultiplyPanel)(task);
  }
}

}  // namespace sharpmax::model
#endif  // HWY_ONCE
