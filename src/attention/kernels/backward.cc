// The backward of one block: see backward.h.
#include "attention/kernels/backward.h"

#include <algorithm>
#include <utility>

#include "attention/rows/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/kernels/groups-inl.h"
#include "attention/kernels/scores-inl.h"
#include "attention/kernels/transposed-inl.h"
#include "attention/rows/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

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
};

// Rows of `from` as [column panel][row][width], each times its factor. Rows past the last are 0, and so are
// rows without keys: whatever they hold must not meet a weight of 0.
HWY_INLINE void PackRows(const AnyTensor<4>& from, std::int64_t batch, std::span<const BlockRow> rows,
                         const bool* empty, std::size_t row_count, double scale, bool by_beta, bool feature_map,
                         float* line, float* HWY_RESTRICT to) {
  const auto features = static_cast<std::size_t>(from.shape[3]);
  const std::size_t columns = (features + kTileKeys - 1) / kTileKeys;
  std::fill_n(line, columns * kTileKeys, 0.0f);
  for (std::size_t i = 0; i < row_count; ++i) {
    if (i < rows.size() && !empty[i]) {
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

HWY_INLINE BackwardContext OpenBackward(const BackwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                                        const BackwardScratch& scratch, const StripeSums& sums) {
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
  bool empty[kBlockRows];
  for (std::size_t i = 0; i < rows.size(); ++i) empty[i] = CountKeys(c.scores, rows[i]) == 0;
  PackRows(request.query, batch, rows, empty, c.row_count, job.scale, true, job.feature_map, scratch.line,
           scratch.queries_by_row);
  PackRows(job.call->d_out, batch, rows, empty, c.row_count, 1.0, false, false, scratch.line, scratch.d_out_by_row);
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
HWY_INLINE void AddProducts(const BackwardContext& c, std::size_t begin, std::size_t end, const float* weights,
                            const float* d_scores, std::size_t group_stride) {
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

// Adds what bias gets of one row: tiles of panels [begin, end), each `kTileSize` after the last, times factor.
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

// What an exponential row needs: weight = exp(beta score - shift), and D = dO . O.
struct StreamingRow {
  float shift;
  float mean;
};

HWY_INLINE StreamingRow ReadSaved(const BackwardContext& c, BlockRow& row, const float* d_out) {
  const Saved& saved = c.job.call->saved;
  const std::int64_t batch = c.head.segment->batch;
  const AnyTensor<4>& out = saved.out;
  float* line = c.scratch.line;
  ReadFloats(out.data, out.dtype, batch * out.strides[0] + row.head * out.strides[1] + row.query * out.strides[2],
             c.value_feature, line);
  double mean = 0.0;
  for (std::size_t i = 0; i < c.value_feature; ++i) mean += static_cast<double>(line[i]) * d_out[i * kTileRows];
  double shift = saved.log_partition(batch, row.head, row.query);
  const double sink = rule_for(c.job.call->normalizer, row.head, std::max<std::int64_t>(1, row.end - row.begin)).sink;
  if (sink > 0.0) shift += std::log1p(sink * std::exp(-shift));
  return {static_cast<float>(shift), static_cast<float>(mean)};
}

// weights = exp(scores - shift), d_scores = weights * (dP - D), in place.
HWY_INLINE void GradeTiles(float* HWY_RESTRICT weights, float* HWY_RESTRICT d_scores, std::size_t tiles,
                           const StreamingRow& row) {
  const FloatTag d;
  const Exponential exponential(1.0);
  const FloatVec shift = hn::Set(d, row.shift);
  const FloatVec mean = hn::Set(d, row.mean);
  for (std::size_t t = 0; t < tiles; ++t, weights += kTileSize, d_scores += kTileSize) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kTileKeys; v += kLanes) {
      const FloatVec score = hn::Load(d, weights + v);
      const auto masked = hn::Eq(score, hn::Set(d, -std::numeric_limits<float>::infinity()));
      const FloatVec p = hn::IfThenZeroElse(masked, exponential(hn::Sub(score, shift)));
      hn::Store(p, d, weights + v);
      const FloatVec gradient = hn::Mul(p, hn::Sub(hn::Load(d, d_scores + v), mean));
      hn::Store(hn::IfThenZeroElse(masked, gradient), d, d_scores + v);
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
  ScoreGroup(c.scores, GroupOf(c.rows, g), c.scratch.queries + g * kTileRows * c.feature, c.head.keys, from, to,
             weights + (from - begin) * kTileSize, nullptr, SlopesOf(c, weights + (from - begin) * kTileSize));
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

HWY_INLINE void StreamBackward(const BackwardContext& c) {
  const BackwardScratch& scratch = c.scratch;
  StreamingRow saved[kBlockRows];
  for (std::size_t i = 0; i < c.rows.size(); ++i) {
    const float* d_out = scratch.d_out + (i / kTileRows) * kTileRows * c.value_feature + i % kTileRows;
    saved[i] = ReadSaved(c, c.rows[i], d_out);
  }
  constexpr std::size_t kGroupFloats = kBlockPanels * kTileSize;
  for (std::size_t begin = c.all.first; begin < c.all.second; begin += kBlockPanels) {
    const std::size_t end = std::min(begin + kBlockPanels, c.all.second);
    for (std::size_t g = 0; g < c.groups; ++g) {
      float* weights = scratch.weights + g * kGroupFloats;
      float* d_scores = scratch.d_scores + g * kGroupFloats;
      ScoreBoth(c, g, begin, end, weights, d_scores);
      const std::size_t from = std::clamp(c.visible[g].first, begin, end);
      const std::size_t to = std::clamp(c.visible[g].second, from, end);
      const auto group = GroupOf(c.rows, g);
      for (std::size_t r = 0; r < group.size(); ++r) {
        const std::size_t at = (from - begin) * kTileSize + r * kTileKeys;
        GradeTiles(weights + at, d_scores + at, to - from, saved[g * kTileRows + r]);
        if (c.job.d_bias != nullptr) AddToBias(c, group[r], from, to, d_scores + at, group[r].beta);
      }
      if (scratch.slopes != nullptr) {
        const std::size_t at = (from - begin) * kTileSize;
        ThroughCap(SlopesOf(c, weights + at), to - from, group.size(), d_scores + at);
      }
      if (group.size() < kTileRows) ZeroMissingRows(group.size(), end - begin, weights, d_scores);
    }
    AddProducts(c, begin, end, scratch.weights, scratch.d_scores, kGroupFloats);
  }
}

HWY_INLINE void WholeBackward(const BackwardContext& c) {
  const BackwardScratch& scratch = c.scratch;
  const std::size_t panels = c.all.second - c.all.first;
  const std::size_t group_floats = panels * kTileSize;
  double parameters[kMaxParameters];
  for (std::size_t g = 0; g < c.groups; ++g) {
    float* weights = scratch.weights + g * group_floats;
    float* d_scores = scratch.d_scores + g * group_floats;
    ScoreBoth(c, g, c.all.first, c.all.second, weights, d_scores);
    const PanelRange range = c.visible[g];
    const auto group = GroupOf(c.rows, g);
    for (std::size_t r = 0; r < group.size() && range.first < range.second; ++r) {
      const std::size_t at = (range.first - c.all.first) * kTileSize + r * kTileKeys;
      const ScoreRow row{.data = weights + at, .chunks = range.second - range.first, .stride = kTileSize,
                         .lanes = kTileKeys};
      ScoreRow gradient = row;
      gradient.data = d_scores + at;
      const RowTask task{
          .normalizer = &c.job.call->normalizer,
          .head = static_cast<std::size_t>(group[r].head),
          .first_key = c.head.segment->key_begin + static_cast<std::int64_t>(range.first * kTileKeys),
          .keys = c.scores.has_overlay ? -1 : std::max<std::int64_t>(0, group[r].end - group[r].begin)};
      std::fill_n(parameters, c.job.parameters, 0.0);
      backward_row(task, row, gradient, *scratch.rows, {parameters, c.job.parameters});
      const auto heads = static_cast<std::size_t>(c.job.call->request.query.shape[1]);
      for (std::size_t p = 0; p < c.job.parameters; ++p) {
        c.sums.d_parameters[p * heads + task.head] += parameters[p];
      }
      if (c.job.d_bias != nullptr) AddToBias(c, group[r], range.first, range.second, d_scores + at, 1.0);
    }
    if (scratch.slopes != nullptr && range.first < range.second) {
      const std::size_t at = (range.first - c.all.first) * kTileSize;
      ThroughCap(SlopesOf(c, weights + at), range.second - range.first, group.size(), d_scores + at);
    }
    if (group.size() < kTileRows) ZeroMissingRows(group.size(), panels, weights, d_scores);
  }
  for (std::size_t begin = c.all.first; begin < c.all.second; begin += kBlockPanels) {
    const std::size_t end = std::min(begin + kBlockPanels, c.all.second);
    const std::size_t offset = (begin - c.all.first) * kTileSize;
    AddProducts(c, begin, end, scratch.weights + offset, scratch.d_scores + offset, group_floats);
  }
}

// phi' of the inputs, times their gradient.
HWY_INLINE void ThroughFeatureMap(const float* input, std::size_t count, float* gradient) {
  for (std::size_t i = 0; i < count; ++i) gradient[i] *= input[i] > 0.0f ? 1.0f : std::exp(input[i]);
}

void BackwardBlock(const BackwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                   const BackwardScratch& scratch, const StripeSums& sums) {
  if (job.streaming) {
    for (BlockRow& row : rows) row.beta = job.call->saved.temperature(head.segment->batch, row.head, row.query);
    // A row without keys has no temperature; whatever is packed for it is masked.
    for (BlockRow& row : rows) row.beta = row.beta == row.beta ? row.beta : 1.0;
  }
  const BackwardContext c = OpenBackward(job, head, rows, scratch, sums);
  if (job.streaming) {
    StreamBackward(c);
  } else {
    WholeBackward(c);
  }
  const AnyMutableTensor<4>& out = job.call->gradients.query;
  if (!out.present()) return;
  const AnyTensor<4>& query = job.call->request.query;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const BlockRow& row = rows[i];
    float* from = scratch.d_queries + i * c.feature_stride;
    const float factor = static_cast<float>(job.scale * row.beta);
    for (std::size_t k = 0; k < c.feature; ++k) from[k] *= factor;
    if (job.feature_map) {
      ReadFloats(query.data, query.dtype,
                 head.segment->batch * query.strides[0] + row.head * query.strides[1] + row.query * query.strides[2],
                 c.feature, scratch.line);
      ThroughFeatureMap(scratch.line, c.feature, from);
    }
    float* to = static_cast<float*>(out.data) + head.segment->batch * out.strides[0] + row.head * out.strides[1] +
                row.query * out.strides[2];
    std::copy_n(from, c.feature, to);
  }
}

HWY_INLINE void WriteGradientRow(const AnyMutableTensor<4>& to, std::int64_t batch, std::int64_t head,
                                 std::int64_t key, std::span<const StripeSums> stripes, float* StripeSums::*sums,
                                 std::size_t offset) {
  float* row = static_cast<float*>(to.data) + batch * to.strides[0] + head * to.strides[1] + key * to.strides[2];
  const auto features = static_cast<std::size_t>(to.shape[3]);
  std::copy_n(stripes[0].*sums + offset, features, row);
  for (const StripeSums& stripe : stripes.subspan(1)) {
    for (std::size_t i = 0; i < features; ++i) row[i] += (stripe.*sums)[offset + i];
  }
}

void WriteKeyGradients(const BackwardJob& job, const PackedHead& head, std::span<const StripeSums> stripes,
                       std::size_t begin, std::size_t end) {
  const AttentionGradients& gradients = job.call->gradients;
  const AnyTensor<4>& key = job.call->request.key;
  const std::int64_t batch = head.segment->batch;
  const std::size_t feature_stride = round_up(static_cast<std::size_t>(key.shape[3]), kTileKeys);
  const std::size_t value_stride =
      round_up(static_cast<std::size_t>(job.call->request.value.shape[3]), kTileKeys);
  float input[256];  // the most features there are
  for (std::size_t k = begin; k < end; ++k) {
    const std::int64_t at = head.segment->key_begin + static_cast<std::int64_t>(k);
    if (gradients.value.present()) {
      WriteGradientRow(gradients.value, batch, head.kv_head, at, stripes, &StripeSums::d_values, k * value_stride);
    }
    if (!gradients.key.present()) continue;
    WriteGradientRow(gradients.key, batch, head.kv_head, at, stripes, &StripeSums::d_keys, k * feature_stride);
    if (!job.feature_map) continue;
    const auto features = static_cast<std::size_t>(key.shape[3]);
    ReadFloats(key.data, key.dtype, batch * key.strides[0] + head.kv_head * key.strides[1] + at * key.strides[2],
               features, input);
    const AnyMutableTensor<4>& to = gradients.key;
    ThroughFeatureMap(input, features,
                      static_cast<float*>(to.data) + batch * to.strides[0] + head.kv_head * to.strides[1] +
                          at * to.strides[2]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax {

HWY_EXPORT(BackwardBlock);
HWY_EXPORT(WriteKeyGradients);

void backward_block(const BackwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                    const BackwardScratch& scratch, const StripeSums& sums) {
  HWY_DYNAMIC_DISPATCH(BackwardBlock)(job, head, rows, scratch, sums);
}

void write_key_gradients(const BackwardJob& job, const PackedHead& head, std::span<const StripeSums> stripes,
                         std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(WriteKeyGradients)(job, head, stripes, begin, end);
}

}  // namespace sharpmax
#endif  // HWY_ONCE
