// What both plans of the backward share: a block packed for its five products, scores and dP in tiles, and
// the products that gather gradients of queries, keys and values.

#include "attention/tiles/block.h"

#if defined(SHARPMAX_BACKWARD_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_BACKWARD_BLOCK_INL_H_
#undef SHARPMAX_BACKWARD_BLOCK_INL_H_
#else
#define SHARPMAX_BACKWARD_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "attention/tiles/block.h"
#include "attention/tiles/groups-inl.h"
#include "attention/tiles/scores-inl.h"
#include "attention/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// The other side of a product: gradients of keys and values, summed over a block's rows.

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

// Everything one block's backward refers to.
struct BackwardContext {
  const BackwardJob& job;
  const PackedHead& head;
  std::span<BlockRow> rows;
  const BackwardScratch& scratch;
  const StripeSums& sums;
  ScoreContext scores;
  std::size_t feature, value_feature;
  std::size_t feature_stride, value_stride;  // padded
  std::size_t padded;                        // keys in whole panels
  std::size_t groups;
  std::size_t row_count;  // rows of whole groups
  PanelRange visible[kMaxGroups];
  PanelRange all;
  std::int64_t keys[kBlockRows];  // that each row does not have masked
};

// Rows of `from` as [column panel][row][width], each times its factor. Rows past the last are 0, and so are
// rows without keys: whatever they hold must not meet a weight of 0.
HWY_INLINE void PackRows(const AnyTensor<4>& from, std::int64_t batch, std::span<const BlockRow> rows,
                         const std::int64_t* keys, std::size_t row_count, double scale, bool by_beta,
                         bool feature_map, float* line, float* HWY_RESTRICT to) {
  const auto features = static_cast<std::size_t>(from.shape[3]);
  const std::size_t columns = (features + kTileKeys - 1) / kTileKeys;
  std::fill_n(line, columns * kTileKeys, 0.0f);
  for (std::size_t i = 0; i < row_count; ++i) {
    if (i < rows.size() && keys[i] > 0) {
      ReadFloats(from.data, from.dtype,
                 batch * from.strides[0] + rows[i].head * from.strides[1] + rows[i].query * from.strides[2],
                 features, line);
      if (feature_map) FeatureMap(line, features);
      const float factor = static_cast<float>(by_beta ? scale * rows[i].beta : scale);
      for (std::size_t k = 0; k < features; ++k) line[k] *= factor;
    } else {
      std::fill_n(line, features, 0.0f);
    }
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t width = ColumnVectors(features, c) * kLanes;
      std::memcpy(to + c * row_count * kTileKeys + i * width, line + c * kTileKeys, width * sizeof(float));
    }
  }
}

HWY_INLINE BackwardContext OpenBackward(const BackwardJob& job, const PackedHead& head,
                                        std::span<BlockRow> rows, const BackwardScratch& scratch,
                                        const StripeSums& sums) {
  const AttentionRequest& request = job.call->request;
  BackwardContext c{.job = job, .head = head, .rows = rows, .scratch = scratch, .sums = sums};
  c.scores = MakeScoreContext(request, *head.segment);
  c.feature = c.scores.feature;
  c.value_feature = static_cast<std::size_t>(request.value.shape[3]);
  c.feature_stride = round_up(c.feature, kTileKeys);
  c.value_stride = round_up(c.value_feature, kTileKeys);
  c.padded = round_up(head.key_count, kTileKeys);
  c.groups = (rows.size() + kTileRows - 1) / kTileRows;
  c.row_count = c.groups * kTileRows;
  c.all = SeeBlock(rows, c.visible);
  const std::int64_t batch = head.segment->batch;
  for (std::size_t g = 0; g < c.groups; ++g) {
    PackQueries(request.query, batch, GroupOf(rows, g), job.scale, job.feature_map, scratch.line,
                scratch.queries + g * kTileRows * c.feature);
    PackLeft(job.call->d_out, batch, GroupOf(rows, g), scratch.line,
             scratch.d_out + g * kTileRows * c.value_feature);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) c.keys[i] = CountKeys(c.scores, rows[i]);
  PackRows(request.query, batch, rows, c.keys, c.row_count, job.scale, true, job.feature_map, scratch.line,
           scratch.queries_by_row);
  PackRows(job.call->d_out, batch, rows, c.keys, c.row_count, 1.0, false, false, scratch.line,
           scratch.d_out_by_row);
  std::fill_n(scratch.d_queries, c.row_count * c.feature_stride, 0.0f);
  return c;
}

// sums += tiles^T rows for panels [begin, end), of which groups' tiles start at `tiles` (panel `begin`).
HWY_INLINE void AddToKeys(const BackwardContext& c, const float* tiles, std::size_t group_stride,
                          std::size_t begin, std::size_t end, const float* right, std::size_t features,
                          float* sums, std::size_t stride) {
  const std::size_t columns = (features + kTileKeys - 1) / kTileKeys;
  for (std::size_t panel = begin; panel < end; ++panel) {
    // Groups that see the panel; between the first and the last, tiles that do not are 0.
    std::size_t first = c.groups, last = 0;
    for (std::size_t g = 0; g < c.groups; ++g) {
      if (panel < c.visible[g].first || panel >= c.visible[g].second) continue;
      first = std::min(first, g);
      last = g + 1;
    }
    if (first >= last) continue;
    const float* from = tiles + first * group_stride + (panel - begin) * kTileSize;
    for (std::size_t column = 0; column < columns; ++column) {
      const float* rows = right + column * c.row_count * kTileKeys;
      float* to = sums + panel * kTileKeys * stride + column * kTileKeys;
      if (ColumnVectors(features, column) == 2) {
        AddPanel<2>(from, last - first, group_stride, rows + first * kTileRows * 2 * kLanes, to, stride);
      } else {
        AddPanel<1>(from, last - first, group_stride, rows + first * kTileRows * kLanes, to, stride);
      }
    }
  }
}

// dQ, dK, dV of panels [begin, end), whose tiles of weights and score gradients are ready.
HWY_INLINE void AddProducts(const BackwardContext& c, std::size_t begin, std::size_t end,
                            const float* weights, const float* d_scores, std::size_t group_stride) {
  const BackwardScratch& scratch = c.scratch;
  float ones[kTileRows];
  std::fill_n(ones, kTileRows, 1.0f);
  if (c.job.call->gradients.query.present()) {
    for (std::size_t g = 0; g < c.groups; ++g) {
      const std::size_t from = std::max(begin, c.visible[g].first), to = std::min(end, c.visible[g].second);
      if (from >= to) continue;
      FoldGroup(d_scores + g * group_stride + (from - begin) * kTileSize, to - from, from, c.padded,
                c.head.keys_by_row, c.feature, ones, scratch.d_queries + g * kTileRows * c.feature_stride,
                c.feature_stride);
    }
  }
  if (c.sums.d_values != nullptr) {
    AddToKeys(c, weights, group_stride, begin, end, scratch.d_out_by_row, c.value_feature, c.sums.d_values,
              c.value_stride);
  }
  if (c.sums.d_keys != nullptr) {
    AddToKeys(c, d_scores, group_stride, begin, end, scratch.queries_by_row, c.feature, c.sums.d_keys,
              c.feature_stride);
  }
}

// Adds what bias gets of one row: tiles of panels [begin, end), each `kTileSize` after the last, times
// factor.
HWY_INLINE void AddToBias(const BackwardContext& c, const BlockRow& row, std::size_t begin, std::size_t end,
                          const float* d_scores, double factor) {
  const AnyMutableTensor<4>& bias = c.job.call->gradients.bias;
  const Extents<4> strides = dense_strides<4>(bias.shape);
  const auto step = [&](std::size_t i) { return bias.shape[i] == 1 ? 0 : strides[i]; };
  double* base = c.job.d_bias + c.head.segment->batch * step(0) + row.head * step(1) + row.query * step(2);
  for (std::size_t panel = begin; panel < end; ++panel, d_scores += kTileSize) {
    for (std::size_t k = 0; k < kTileKeys; ++k) {
      const auto key = static_cast<std::int64_t>(panel * kTileKeys + k);
      if (key < row.begin || key >= row.end) continue;
      base[(c.head.segment->key_begin + key) * step(3)] += factor * static_cast<double>(d_scores[k]);
    }
  }
}

HWY_INLINE void ZeroTiles(float* tiles, std::size_t count) { std::fill_n(tiles, count * kTileSize, 0.0f); }

// The slopes of the cap beside a tile of weights; null: there is no cap.
HWY_INLINE float* SlopesOf(const BackwardContext& c, const float* weights) {
  return c.scratch.slopes == nullptr ? nullptr : c.scratch.slopes + (weights - c.scratch.weights);
}

// Scores and dP of panels [begin, end) of group g, into tiles; panels the group does not see are 0.
HWY_INLINE void ScoreBoth(const BackwardContext& c, std::size_t g, std::size_t begin, std::size_t end,
                          float* weights, float* d_scores) {
  const std::size_t from = std::clamp(c.visible[g].first, begin, end);
  const std::size_t to = std::clamp(c.visible[g].second, from, end);
  ZeroTiles(weights, from - begin);
  ZeroTiles(d_scores, from - begin);
  ZeroTiles(weights + (to - begin) * kTileSize, end - to);
  ZeroTiles(d_scores + (to - begin) * kTileSize, end - to);
  if (from == to) return;
  ScoreGroup(c.scores, GroupOf(c.rows, g), c.scratch.queries + g * kTileRows * c.feature, c.head.keys, from,
             to, weights + (from - begin) * kTileSize, nullptr,
             SlopesOf(c, weights + (from - begin) * kTileSize));
  const float* left = c.scratch.d_out + g * kTileRows * c.value_feature;
  for (std::size_t panel = from; panel < to; ++panel) {
    ScoreTile(left, c.head.values_by_panel + panel * kTileKeys * c.value_feature, c.value_feature,
              d_scores + (panel - begin) * kTileSize, nullptr);
  }
}

// The rows a group lacks count for nothing.
HWY_INLINE void ZeroMissingRows(std::size_t rows, std::size_t tiles, float* weights, float* d_scores) {
  for (std::size_t t = 0; t < tiles; ++t) {
    std::fill(weights + t * kTileSize + rows * kTileKeys, weights + (t + 1) * kTileSize, 0.0f);
    std::fill(d_scores + t * kTileSize + rows * kTileKeys, d_scores + (t + 1) * kTileSize, 0.0f);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_BACKWARD_BLOCK_INL_H_
