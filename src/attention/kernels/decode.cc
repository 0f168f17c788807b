// Few queries against many keys: see block.h.
#include "attention/kernels/block.h"

#include <algorithm>
#include <cstring>

#include "attention/rows/row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/decode.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/kernels/dot-inl.h"
#include "attention/kernels/scores-inl.h"
#include "attention/kernels/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Keys that every row looks at before the next: few where several passes are to find them in L1.
HWY_INLINE std::size_t StepOf(const DecodeHead& head) { return head.rows.size() > 2 ? kLanes : 4 * kLanes; }

std::size_t DecodePadded(std::size_t features) { return round_up(features, kLanes); }

// `count` rows of features as floats: where they lie, or promoted into `line`.
struct FloatRows {
  const float* data;
  std::int64_t stride;
};
HWY_INLINE FloatRows RowsAsFloats(const AnyTensor<4>& from, std::int64_t offset, std::size_t count, bool feature_map,
                                  float* line) {
  if (from.dtype == DType::float32 && !feature_map) {
    return {static_cast<const float*>(from.data) + offset, from.strides[2]};
  }
  const auto features = static_cast<std::size_t>(from.shape[3]);
  for (std::size_t i = 0; i < count; ++i) {
    float* row = line + i * features;
    ReadFloats(from.data, from.dtype, offset + static_cast<std::int64_t>(i) * from.strides[2], features, row);
    if (feature_map) FeatureMap(row, features);
  }
  return {line, static_cast<std::int64_t>(features)};
}

void DecodeQueries(const DecodeHead& head, double scale) {
  const AnyTensor<4>& query = head.request->query;
  const auto features = static_cast<std::size_t>(query.shape[3]);
  const std::size_t padded = round_up(features, kLanes);
  for (std::size_t r = 0; r < head.rows.size(); ++r) {
    float* to = head.queries + r * padded;
    std::fill_n(to, padded, 0.0f);
    ReadFloats(query.data, query.dtype,
               head.segment->batch * query.strides[0] + head.rows[r].head * query.strides[1] +
                   head.rows[r].query * query.strides[2],
               features, to);
    if (head.feature_map) FeatureMap(to, features);
    for (std::size_t k = 0; k < features; ++k) to[k] *= static_cast<float>(scale);
  }
}

template <std::size_t kRows>
HWY_INLINE void DotStep(const float* queries, std::size_t padded, const FloatRows& keys, std::size_t count,
                        std::size_t features, float* scores, std::size_t score_stride) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    DotKeys<kRows>(queries, padded, keys.data + static_cast<std::int64_t>(i) * keys.stride, keys.stride, features,
                   scores + i, score_stride);
  }
  // The last few keys: the same sums, each from a walk that stands still.
  HWY_ALIGN float some[kRows * kLanes];
  for (; i < count; ++i) {
    DotKeys<kRows>(queries, padded, keys.data + static_cast<std::int64_t>(i) * keys.stride, 0, features, some, kLanes);
    for (std::size_t r = 0; r < kRows; ++r) scores[r * score_stride + i] = some[r * kLanes];
  }
}

void DecodeScores(const DecodeHead& head, std::size_t chunk, float* line) {
  const AnyTensor<4>& key = head.request->key;
  const auto features = static_cast<std::size_t>(key.shape[3]);
  const std::size_t padded = round_up(features, kLanes);
  const std::size_t begin = chunk * kDecodeChunk, end = std::min(begin + kDecodeChunk, head.key_count);
  const std::int64_t base = head.segment->batch * key.strides[0] + head.kv_head * key.strides[1] +
                            (head.segment->key_begin + head.first) * key.strides[2];
  const std::size_t step = StepOf(head);
  for (std::size_t at = begin; at < end; at += step) {
    const std::size_t count = std::min(step, end - at);
    const FloatRows keys = RowsAsFloats(key, base + static_cast<std::int64_t>(at) * key.strides[2], count,
                                        head.feature_map, line);
    for (std::size_t r = 0; r < head.rows.size();) {
      const float* queries = head.queries + r * padded;
      float* scores = head.scores + r * head.floats + at;
      const std::size_t left = head.rows.size() - r;
      if (left >= 4) {
        DotStep<4>(queries, padded, keys, count, features, scores, head.floats);
        r += 4;
      } else if (left >= 2) {
        DotStep<2>(queries, padded, keys, count, features, scores, head.floats);
        r += 2;
      } else {
        DotStep<1>(queries, padded, keys, count, features, scores, head.floats);
        r += 1;
      }
    }
  }
  const ScoreContext context = MakeScoreContext(*head.request, *head.segment);
  const std::size_t dressed_end = end == head.key_count ? head.floats : end;
  for (std::size_t r = 0; r < head.rows.size(); ++r) {
    const BlockRow& row = head.rows[r];
    if (context.soft_cap > 0.0) {
      CapScores(context.soft_cap, head.scores + r * head.floats + begin, round_up(end - begin, kLanes));
    }
    for (std::size_t at = begin; at < dressed_end; at += kTileKeys) {
      const std::int64_t first = head.first + static_cast<std::int64_t>(at);
      const bool whole = row.begin <= first && first + static_cast<std::int64_t>(kTileKeys) <= row.end;
      if (!whole || context.has_overlay) DressRow(context, row, first, head.scores + r * head.floats + at);
    }
  }
}

void DecodeResolve(const DecodeHead& head, std::size_t r, const AnyNormalizer& normalizer, const RowWishes& wishes,
                   RowWorkspace& rows, RowOutcome& outcome) {
  const BlockRow& row = head.rows[r];
  const bool has_overlay = head.request->mask.present() || head.request->bias.present();
  const RowTask task{.normalizer = &normalizer,
                     .head = static_cast<std::size_t>(row.head),
                     .first_key = head.segment->key_begin + head.first,
                     .keys = has_overlay ? -1 : std::max<std::int64_t>(0, row.end - row.begin)};
  const ScoreRow scores{.data = head.scores + r * head.floats,
                        .chunks = head.floats / kTileKeys,
                        .stride = kTileKeys,
                        .lanes = kTileKeys};
  resolve_row(task, wishes, scores, rows, outcome);
}

// Whole rows of values at a time where the sums fit the registers, so that memory is read in order.
template <std::size_t kRows>
HWY_INLINE void FoldStep(const float* weights, std::size_t weight_stride, const FloatRows& values, std::size_t count,
                         std::size_t features, float* out, std::size_t out_stride) {
  constexpr std::size_t kMost = HWY_TARGET <= HWY_AVX3 ? 24 : 12;  // accumulators
  std::size_t f = 0;
  if constexpr (8 * kRows <= kMost) {
    for (; f + 8 * kLanes <= features; f += 8 * kLanes) {
      FoldValues<kRows, 8>(weights, weight_stride, values.data + f, values.stride, count, kLanes, out + f, out_stride);
    }
  }
  constexpr std::size_t kFew = 4 * kRows <= kMost ? 4 : 2;
  for (; f + kFew * kLanes <= features; f += kFew * kLanes) {
    FoldValues<kRows, kFew>(weights, weight_stride, values.data + f, values.stride, count, kLanes, out + f, out_stride);
  }
  for (; f < features; f += kLanes) {
    FoldValues<kRows, 1>(weights, weight_stride, values.data + f, values.stride, count,
                         std::min(kLanes, features - f), out + f, out_stride);
  }
}

// Whether any row gives any of these keys a weight.
HWY_INLINE bool AnyWeight(const DecodeHead& head, std::size_t at, std::size_t count) {
  for (std::size_t r = 0; r < head.rows.size(); ++r) {
    const float* weights = head.scores + r * head.floats + at;
    for (std::size_t i = 0; i < count; ++i) {
      if (weights[i] != 0.0f) return true;
    }
  }
  return false;
}

void DecodeValues(const DecodeHead& head, std::size_t chunk, float* line) {
  const AnyTensor<4>& value = head.request->value;
  const auto features = static_cast<std::size_t>(value.shape[3]);
  const std::size_t padded = round_up(features, kLanes);
  const std::size_t begin = chunk * kDecodeChunk, end = std::min(begin + kDecodeChunk, head.key_count);
  const std::int64_t base = head.segment->batch * value.strides[0] + head.kv_head * value.strides[1] +
                            (head.segment->key_begin + head.first) * value.strides[2];
  float* partial = head.partial + chunk * head.rows.size() * padded;
  std::fill_n(partial, head.rows.size() * padded, 0.0f);
  const std::size_t step = StepOf(head);
  for (std::size_t at = begin; at < end; at += step) {
    const std::size_t count = std::min(step, end - at);
    if (!AnyWeight(head, at, count)) continue;  // sparse rules never read these values
    const FloatRows values =
        RowsAsFloats(value, base + static_cast<std::int64_t>(at) * value.strides[2], count, false, line);
    for (std::size_t r = 0; r < head.rows.size();) {
      const float* weights = head.scores + r * head.floats + at;
      float* out = partial + r * padded;
      const std::size_t left = head.rows.size() - r;
      if (left >= 4 && features <= 4 * kLanes) {
        FoldStep<4>(weights, head.floats, values, count, features, out, padded);
        r += 4;
      } else if (left >= 2) {
        FoldStep<2>(weights, head.floats, values, count, features, out, padded);
        r += 2;
      } else {
        FoldStep<1>(weights, head.floats, values, count, features, out, padded);
        r += 1;
      }
    }
  }
}

void DecodeFinish(const DecodeHead& head, std::size_t r, float scale, const AnyMutableTensor<4>& out) {
  const auto features = static_cast<std::size_t>(out.shape[3]);
  const std::size_t padded = round_up(features, kLanes);
  const std::size_t chunks = (head.key_count + kDecodeChunk - 1) / kDecodeChunk;
  float* sum = head.partial + r * padded;  // the first chunk's, or nothing at all
  for (std::size_t c = 1; c < chunks; ++c) {
    const float* partial = head.partial + (c * head.rows.size() + r) * padded;
    for (std::size_t i = 0; i < features; ++i) sum[i] += partial[i];
  }
  WriteOut(out, head.segment->batch, head.rows[r], chunks == 0 ? 0.0f : scale, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax {

HWY_EXPORT(DecodePadded);
HWY_EXPORT(DecodeQueries);
HWY_EXPORT(DecodeScores);
HWY_EXPORT(DecodeResolve);
HWY_EXPORT(DecodeValues);
HWY_EXPORT(DecodeFinish);

std::size_t decode_padded(std::size_t features) { return HWY_DYNAMIC_DISPATCH(DecodePadded)(features); }

std::size_t decode_line_floats(const AttentionRequest& request) {
  constexpr std::size_t kWidestStep = 4 * 16;  // StepOf on the widest instruction set
  return kWidestStep * static_cast<std::size_t>(std::max(request.key.shape[3], request.value.shape[3]));
}

void decode_queries(const DecodeHead& head, double scale) { HWY_DYNAMIC_DISPATCH(DecodeQueries)(head, scale); }

void decode_scores(const DecodeHead& head, std::size_t chunk, float* line) {
  HWY_DYNAMIC_DISPATCH(DecodeScores)(head, chunk, line);
}

void decode_resolve(const DecodeHead& head, std::size_t row, const AnyNormalizer& normalizer,
                    const RowWishes& wishes, RowWorkspace& rows, RowOutcome& outcome) {
  HWY_DYNAMIC_DISPATCH(DecodeResolve)(head, row, normalizer, wishes, rows, outcome);
}

void decode_values(const DecodeHead& head, std::size_t chunk, float* line) {
  HWY_DYNAMIC_DISPATCH(DecodeValues)(head, chunk, line);
}

void decode_finish(const DecodeHead& head, std::size_t row, float scale, const AnyMutableTensor<4>& out) {
  HWY_DYNAMIC_DISPATCH(DecodeFinish)(head, row, scale, out);
}

}  // namespace sharpmax
#endif  // HWY_ONCE
