// Scores of a row group against panels of keys: the product, its soft cap, then what takes keys away (the
// edges of causality, window and length; mask) or moves them (bias).
#if defined(SHARPMAX_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_SCORES_INL_H_
#undef SHARPMAX_SCORES_INL_H_
#else
#define SHARPMAX_SCORES_INL_H_
#endif

#include <algorithm>
#include <limits>
#include <span>

#include "attention/tiles/block.h"
#include "attention/tiles/pack-inl.h"
#include "attention/tiles/tile-inl.h"
#include "attention/rows/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Soft-capped scores: c tanh(e / c), tile by tile and out of line, so that calls without a cap run the
// code that they always did but for one branch a tile.

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

// Everything about scores that does not change from block to block.
struct ScoreContext {
  const AttentionRequest* request = nullptr;
  const Segment* segment = nullptr;
  std::size_t feature = 0;
  TensorView<const bool, 4> mask;  // stretched to the full shape; absent: null
  AnyTensor<4> bias;
  bool has_overlay = false;  // mask or bias
  double soft_cap = 0.0;     // 0: none
};

HWY_INLINE ScoreContext MakeScoreContext(const AttentionRequest& request, const Segment& segment) {
  ScoreContext context;
  context.request = &request;
  context.segment = &segment;
  context.feature = static_cast<std::size_t>(request.query.shape[3]);
  const Extents<4> shape = {request.query.shape[0], request.query.shape[1], request.query.shape[2],
                            request.key.shape[2]};
  if (request.mask.present()) context.mask = broadcast_to(request.mask, shape);
  if (request.bias.present()) context.bias = broadcast_to(request.bias, shape);
  context.has_overlay = request.mask.present() || request.bias.present();
  context.soft_cap = request.soft_cap;
  return context;
}

// What mask and bias say of keys [key, key + count) of a row: to[i] = bias, or -inf for a masked key.
//
// Out of line: inlined for the scalar target, g++ warns of a write past the end that no count reaches.
HWY_MAYBE_UNUSED static HWY_NOINLINE void ReadOverlay(const ScoreContext& context, const BlockRow& row,
                                                      std::int64_t key, std::size_t count, float* HWY_RESTRICT to) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  const std::int64_t batch = context.segment->batch;
  std::fill_n(to, count, 0.0f);
  if (context.bias.present()) {
    const AnyTensor<4>& bias = context.bias;
    const std::int64_t offset = batch * bias.strides[0] + row.head * bias.strides[1] +
                                row.query * bias.strides[2] + key * bias.strides[3];
    if (bias.strides[3] == 1) {
      ReadFloats(bias.data, bias.dtype, offset, count, to);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        ReadFloats(bias.data, bias.dtype, offset + static_cast<std::int64_t>(i) * bias.strides[3], 1, to + i);
      }
    }
    const float lowest = HalfLowest(bias.dtype);
    for (std::size_t i = 0; i < count; ++i) to[i] = to[i] <= lowest ? kMasked : to[i];
  }
  if (context.mask.present()) {
    const bool* mask = &context.mask(batch, row.head, row.query, key);
    for (std::size_t i = 0; i < count; ++i) {
      if (!mask[static_cast<std::int64_t>(i) * context.mask.strides[3]]) to[i] = kMasked;
    }
  }
}

// Unmasked keys of a row.
HWY_INLINE std::int64_t CountKeys(const ScoreContext& context, const BlockRow& row) {
  if (!context.has_overlay) return std::max<std::int64_t>(0, row.end - row.begin);
  constexpr std::size_t kStep = 256;
  float overlay[kStep];
  std::int64_t keys = 0;
  for (std::int64_t at = row.begin; at < row.end; at += kStep) {
    const std::size_t count = std::min<std::size_t>(kStep, static_cast<std::size_t>(row.end - at));
    ReadOverlay(context, row, context.segment->key_begin + at, count, overlay);
    for (std::size_t i = 0; i < count; ++i) keys += overlay[i] != -std::numeric_limits<float>::infinity();
  }
  return keys;
}

// Masks what row sees outside of [begin, end) and lays mask and bias over the rest. `first` is the
// tile's first key, counted from the segment's.
HWY_INLINE void DressRow(const ScoreContext& context, const BlockRow& row, std::int64_t first,
                         float* HWY_RESTRICT scores) {
  const FloatTag d;
  const FloatVec masked = hn::Set(d, -std::numeric_limits<float>::infinity());
  const std::int64_t width = static_cast<std::int64_t>(kTileKeys);
  const std::int64_t begin = std::clamp<std::int64_t>(row.begin - first, 0, width);
  const std::int64_t end = std::clamp<std::int64_t>(row.end - first, begin, width);
  HWY_ALIGN float overlay[kTileKeys];
  const bool covered = context.has_overlay && begin < end;
  if (covered) {
    std::fill_n(overlay, kTileKeys, 0.0f);
    ReadOverlay(context, row, context.segment->key_begin + first + begin, static_cast<std::size_t>(end - begin),
                overlay + begin);
  }
  const FloatVec low = hn::Set(d, static_cast<float>(begin));
  const FloatVec high = hn::Set(d, static_cast<float>(end));
  const FloatVec beta = hn::Set(d, static_cast<float>(row.beta));
  for (std::size_t v = 0; v < kTileKeys; v += kLanes) {
    const FloatVec index = hn::Iota(d, static_cast<float>(v));
    FloatVec score = hn::Load(d, scores + v);
    if (covered) {
      const FloatVec over = hn::Load(d, overlay + v);
      score = hn::IfThenElse(hn::Eq(over, masked), masked, hn::MulAdd(beta, over, score));
    }
    const auto seen = hn::And(hn::Ge(index, low), hn::Lt(index, high));
    hn::Store(hn::IfThenElse(seen, score, masked), d, scores + v);
  }
}

// Scores of one row group against panels [first_panel, last_panel), into consecutive tiles.
// `row_max`: one vector a row, the running maximum; null: not wanted. `slopes`: tiles as CapTile fills
// them, where there is a cap.
HWY_INLINE void ScoreGroup(const ScoreContext& context, std::span<const BlockRow> rows, const float* queries,
                           const float* keys, std::size_t first_panel, std::size_t last_panel,
                           float* HWY_RESTRICT tiles, float* HWY_RESTRICT row_max, float* slopes = nullptr) {
  const FloatTag d;
  const bool capped = context.soft_cap > 0.0;
  // Panels every row sees whole need no dressing.
  std::int64_t begin = 0, end = std::numeric_limits<std::int64_t>::max();
  for (const BlockRow& row : rows) {
    begin = std::max(begin, row.begin);
    end = std::min(end, row.end);
  }
  for (std::size_t panel = first_panel; panel < last_panel; ++panel, tiles += kTileSize) {
    const auto first = static_cast<std::int64_t>(panel * kTileKeys);
    const float* right = keys + panel * kTileKeys * context.feature;
    const bool bare =
        !context.has_overlay && begin <= first && first + static_cast<std::int64_t>(kTileKeys) <= end;
    if (bare && !capped) {
      ScoreTile(queries, right, context.feature, tiles, row_max);
      continue;
    }
    ScoreTile(queries, right, context.feature, tiles, nullptr);
    if (capped) {
      CapTile(context.soft_cap, rows, tiles, slopes);
      if (slopes != nullptr) slopes += kTileSize;
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      float* scores = tiles + r * kTileKeys;
      if (!bare) DressRow(context, rows[r], first, scores);
      if (row_max == nullptr) continue;
      FloatVec top = hn::Load(d, row_max + r * kLanes);
      for (std::size_t v = 0; v < kTileKeys; v += kLanes) top = hn::Max(top, hn::Load(d, scores + v));
      hn::Store(top, d, row_max + r * kLanes);
    }
  }
}

// Packs the group's rows of `from`, each times scale * beta, as [feature][kTileRows]; missing rows are 0.
HWY_INLINE void PackQueries(const AnyTensor<4>& from, std::int64_t batch, std::span<const BlockRow> rows,
                            double scale, bool feature_map, float* line, float* HWY_RESTRICT to) {
  const auto feature = static_cast<std::size_t>(from.shape[3]);
  const float* pointers[kTileRows];
  for (std::size_t r = 0; r < kTileRows; ++r) {
    float* at = line + r * feature;
    pointers[r] = at;
    if (r >= rows.size()) {
      std::fill_n(at, feature, 0.0f);
      continue;
    }
    ReadFloats(from.data, from.dtype,
               batch * from.strides[0] + rows[r].head * from.strides[1] + rows[r].query * from.strides[2],
               feature, at);
    if (feature_map) FeatureMap(at, feature);
    const float factor = static_cast<float>(scale * rows[r].beta);
    if (factor == 1.0f) continue;
    for (std::size_t k = 0; k < feature; ++k) at[k] *= factor;
  }
  TransposeRows(pointers, kTileRows, feature, kTileRows, to);
}

// The same without a factor: gradients of the output.
HWY_INLINE void PackLeft(const AnyTensor<4>& from, std::int64_t batch, std::span<const BlockRow> rows, float* line,
                         float* HWY_RESTRICT to) {
  BlockRow plain[kTileRows];
  for (std::size_t r = 0; r < rows.size(); ++r) {
    plain[r] = rows[r];
    plain[r].beta = 1.0;
  }
  PackQueries(from, batch, {plain, rows.size()}, 1.0, false, line, to);
}

// Packs `from`'s rows [first, first + count) of a head as panels [panel][feature][kTileKeys], `panels` from
// `panel` on. Keys past the end are 0; their scores are masked by DressRow.
HWY_INLINE void PackPanels(const AnyTensor<4>& from, std::int64_t batch, std::int64_t head, std::int64_t first,
                           std::size_t count, std::size_t panel, std::size_t panels, bool feature_map,
                           float* line, float* HWY_RESTRICT to) {
  const auto feature = static_cast<std::size_t>(from.shape[3]);
  const std::int64_t base = batch * from.strides[0] + head * from.strides[1] + first * from.strides[2];
  const bool direct = from.dtype == DType::float32 && !feature_map;
  std::fill_n(line, feature, 0.0f);  // the row of zeros
  for (std::size_t p = panel; p < panel + panels; ++p) {
    const float* pointers[kTileKeys];
    for (std::size_t r = 0; r < kTileKeys; ++r) {
      const std::size_t key = p * kTileKeys + r;
      if (key >= count) {
        pointers[r] = line;
        continue;
      }
      const std::int64_t offset = base + static_cast<std::int64_t>(key) * from.strides[2];
      if (direct) {
        pointers[r] = static_cast<const float*>(from.data) + offset;
        continue;
      }
      float* at = line + (r + 1) * feature;
      ReadFloats(from.data, from.dtype, offset, feature, at);
      if (feature_map) FeatureMap(at, feature);
      pointers[r] = at;
    }
    TransposeRows(pointers, kTileKeys, feature, kTileKeys, to + p * kTileKeys * feature);
  }
}

// Width in vectors of column panel `column` of a matrix of `features` columns.
HWY_INLINE std::size_t ColumnVectors(std::size_t features, std::size_t column) {
  return features - column * kTileKeys > kLanes ? 2 : 1;
}

// Packs rows [first, first + count) of a head as [column panel][key][width]: keys [begin, end) of
// `padded` in all. Missing keys and columns are 0.
HWY_INLINE void PackColumns(const AnyTensor<4>& from, std::int64_t batch, std::int64_t head, std::int64_t first,
                            std::size_t count, std::size_t padded, std::size_t begin, std::size_t end,
                            bool feature_map, float* line, float* HWY_RESTRICT to) {
  const auto features = static_cast<std::size_t>(from.shape[3]);
  const std::size_t columns = (features + kTileKeys - 1) / kTileKeys;
  const std::int64_t base = batch * from.strides[0] + head * from.strides[1] + first * from.strides[2];
  std::fill_n(line, columns * kTileKeys, 0.0f);
  const bool direct = from.dtype == DType::float32 && !feature_map && features == columns * kTileKeys;
  for (std::size_t key = begin; key < end; ++key) {
    if (key < count && direct) {
      const FloatTag d;
      const float* row = static_cast<const float*>(from.data) + base + static_cast<std::int64_t>(key) * from.strides[2];
      for (std::size_t c = 0; c < columns; ++c, row += kTileKeys) {
        float* at = to + (c * padded + key) * kTileKeys;
        hn::Store(hn::LoadU(d, row), d, at);
        hn::Store(hn::LoadU(d, row + kLanes), d, at + kLanes);
      }
      continue;
    }
    if (key < count) {
      ReadFloats(from.data, from.dtype, base + static_cast<std::int64_t>(key) * from.strides[2], features, line);
      if (feature_map) FeatureMap(line, features);
    } else {
      std::fill_n(line, features, 0.0f);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t width = ColumnVectors(features, c) * kLanes;
      std::memcpy(to + c * padded * kTileKeys + key * width, line + c * kTileKeys, width * sizeof(float));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_SCORES_INL_H_
