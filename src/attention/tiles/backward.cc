// The backward of one block: see block.h.
#include "attention/tiles/block.h"

#include <algorithm>
#include <utility>

#include "attention/rows/row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/tiles/backward.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/tiles/backward_block-inl.h"
#include "attention/tiles/backward_streaming-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Scores and dP of a group's rows become weights and score gradients; panels `range` of what starts with c.all.first.
HWY_INLINE void GradeRows(const BackwardContext& c, std::span<const BlockRow> group, PanelRange range, float* weights,
                          float* d_scores) {
  RowTask tasks[kTileRows];
  ScoreRow rows[kTileRows], gradients[kTileRows];
  for (std::size_t r = 0; r < group.size(); ++r) {
    const std::size_t at = (range.first - c.all.first) * kTileSize + r * kTileKeys;
    rows[r] = {.data = weights + at, .chunks = range.second - range.first, .stride = kTileSize, .lanes = kTileKeys};
    gradients[r] = rows[r];
    gradients[r].data = d_scores + at;
    tasks[r] = {.normalizer = &c.job.call->normalizer,
                .head = static_cast<std::size_t>(group[r].head),
                .first_key = c.head.segment->key_begin + static_cast<std::int64_t>(range.first * kTileKeys),
                .keys = c.scores.has_overlay ? -1 : std::max<std::int64_t>(0, group[r].end - group[r].begin)};
  }
  const std::size_t count = c.job.parameters;
  double parameters[kTileRows * kMaxParameters] = {};
  backward_rows({tasks, group.size()}, {rows, group.size()}, {gradients, group.size()}, *c.scratch.rows,
                {parameters, group.size() * count});
  const auto heads = static_cast<std::size_t>(c.job.call->request.query.shape[1]);
  for (std::size_t r = 0; r < group.size(); ++r) {
    for (std::size_t p = 0; p < count; ++p) {
      c.sums.d_parameters[p * heads + tasks[r].head] += parameters[r * count + p];
    }
    if (c.job.d_bias != nullptr) AddToBias(c, group[r], range.first, range.second, gradients[r].data, 1.0);
  }
}

HWY_INLINE void WholeBackward(const BackwardContext& c) {
  const BackwardScratch& scratch = c.scratch;
  const std::size_t panels = c.all.second - c.all.first;
  const std::size_t group_floats = panels * kTileSize;
  for (std::size_t g = 0; g < c.groups; ++g) {
    float* weights = scratch.weights + g * group_floats;
    float* d_scores = scratch.d_scores + g * group_floats;
    ScoreBoth(c, g, c.all.first, c.all.second, weights, d_scores);
    const PanelRange range = c.visible[g];
    const auto group = GroupOf(c.rows, g);
    if (range.first < range.second) GradeRows(c, group, range, weights, d_scores);
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
    for (BlockRow& row : rows)
      row.beta = job.call->saved.temperature(head.segment->batch, row.head, row.query);
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
      ReadFloats(
          query.data, query.dtype,
          head.segment->batch * query.strides[0] + row.head * query.strides[1] + row.query * query.strides[2],
          c.feature, scratch.line);
      ThroughFeatureMap(scratch.line, c.feature, from);
    }
    float* to = static_cast<float*>(out.data) + head.segment->batch * out.strides[0] +
                row.head * out.strides[1] + row.query * out.strides[2];
    std::copy_n(from, c.feature, to);
  }
}

HWY_INLINE void WriteGradientRow(const AnyMutableTensor<4>& to, std::int64_t batch, std::int64_t head,
                                 std::int64_t key, std::span<const StripeSums> stripes,
                                 float* StripeSums::*sums, std::size_t offset) {
  float* row =
      static_cast<float*>(to.data) + batch * to.strides[0] + head * to.strides[1] + key * to.strides[2];
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
      WriteGradientRow(gradients.value, batch, head.kv_head, at, stripes, &StripeSums::d_values,
                       k * value_stride);
    }
    if (!gradients.key.present()) continue;
    WriteGradientRow(gradients.key, batch, head.kv_head, at, stripes, &StripeSums::d_keys,
                     k * feature_stride);
    if (!job.feature_map) continue;
    const auto features = static_cast<std::size_t>(key.shape[3]);
    ReadFloats(key.data, key.dtype,
               batch * key.strides[0] + head.kv_head * key.strides[1] + at * key.strides[2], features, input);
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
