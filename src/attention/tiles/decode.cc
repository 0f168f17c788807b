// Few queries against many keys: see block.h.
#include "attention/tiles/block.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/tiles/decode.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/tiles/dot-inl.h"
#include "attention/tiles/scores-inl.h"
#include "attention/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Keys that every row looks at before the next: few where several passes are to find them in L1.
HWY_INLINE std::size_t StepOf(const DecodePart& part) { return part.rows.size() > 2 ? kLanes : 4 * kLanes; }

std::size_t DecodePadded(std::size_t features) { return round_up(features, kLanes); }

// Keys or values of one step: rows of elements, `stride` elements apart.
template <class Element>
struct StepRows {
  const Element* data;
  std::int64_t stride;
};

// ... where they lie ...
template <class Element>
struct InPlace {
  const Element* data;
  std::int64_t stride;

  HWY_INLINE StepRows<Element> operator()(std::int64_t offset, std::size_t) const { return {data + offset, stride}; }
};

// ... or as floats in `line`.
struct Promoted {
  const AnyTensor<4>* from;
  bool feature_map;
  float* line;

  HWY_INLINE StepRows<float> operator()(std::int64_t offset, std::size_t count) const {
    const auto features = static_cast<std::size_t>(from->shape[3]);
    for (std::size_t i = 0; i < count; ++i) {
      float* row = line + i * features;
      ReadFloats(from->data, from->dtype, offset + static_cast<std::int64_t>(i) * from->strides[2], features, row);
      if (feature_map) FeatureMap(row, features);
    }
    return {line, static_cast<std::int64_t>(features)};
  }
};

// Rows that read 16-bit elements in place, each pass promoting them again; more share one promotion.
constexpr std::size_t kPromotingRows = 4;

// body(source) with the way in which `part` reads `from`.
template <class Body>
HWY_INLINE void WithSource(const DecodePart& part, const AnyTensor<4>& from, bool feature_map, float* line,
                           const Body& body) {
  const bool in_place = !feature_map && part.rows.size() <= kPromotingRows;
  if (from.dtype == DType::float32 && !feature_map) {
    return body(InPlace<float>{static_cast<const float*>(from.data), from.strides[2]});
  }
  if (from.dtype == DType::bfloat16 && in_place) {
    return body(InPlace<hwy::bfloat16_t>{static_cast<const hwy::bfloat16_t*>(from.data), from.strides[2]});
  }
#if HWY_TARGET <= HWY_AVX2  // without F16C: see ReadFloats
  if (from.dtype == DType::float16 && in_place) {
    return body(InPlace<hwy::float16_t>{static_cast<const hwy::float16_t*>(from.data), from.strides[2]});
  }
#endif
  body(Promoted{&from, feature_map, line});
}

void DecodeQueries(const DecodePart& part, double scale) {
  const AnyTensor<4>& query = part.request->query;
  const auto features = static_cast<std::size_t>(query.shape[3]);
  const std::size_t padded = round_up(features, kLanes);
  for (std::size_t r = 0; r < part.rows.size(); ++r) {
    float* to = part.queries + r * padded;
    std::fill_n(to, padded, 0.0f);
    ReadFloats(query.data, query.dtype,
               part.segment->batch * query.strides[0] + part.rows[r].head * query.strides[1] +
                   part.rows[r].query * query.strides[2],
               features, to);
    if (part.feature_map) FeatureMap(to, features);
    for (std::size_t k = 0; k < features; ++k) to[k] *= static_cast<float>(scale);
  }
}

template <std::size_t kRows, class Element>
HWY_INLINE void DotStep(const float* queries, std::size_t padded, const StepRows<Element>& keys, std::size_t count,
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

template <class Source>
HWY_NOINLINE void ScoreSteps(const DecodePart& part, const DecodeChunk& chunk, const Source& source) {
  const AnyTensor<4>& key = part.request->key;
  const auto features = static_cast<std::size_t>(key.shape[3]);
  const std::size_t padded = round_up(features, kLanes), step = StepOf(part);
  const std::int64_t base = part.segment->batch * key.strides[0] + part.kv_head * key.strides[1] +
                            (part.segment->key_begin + part.first) * key.strides[2];
  for (std::size_t at = chunk.begin; at < chunk.end; at += step) {
    const std::size_t count = std::min(step, chunk.end - at);
    const auto keys = source(base + static_cast<std::int64_t>(at) * key.strides[2], count);
    for (std::size_t r = 0; r < part.rows.size();) {
      const float* queries = part.queries + r * padded;
      float* scores = part.scores + r * part.floats + at;
      const std::size_t left = part.rows.size() - r;
      if (left >= 4) {
        DotStep<4>(queries, padded, keys, count, features, scores, part.floats);
        r += 4;
      } else if (left >= 2) {
        DotStep<2>(queries, padded, keys, count, features, scores, part.floats);
        r += 2;
      } else {
        DotStep<1>(queries, padded, keys, count, features, scores, part.floats);
        r += 1;
      }
    }
  }
}

// Out of line: few tiles have an edge, a mask or a bias.
static HWY_NOINLINE void DressTile(const ScoreContext& context, const BlockRow& row, std::int64_t first, float* scores) {
  DressRow(context, row, first, scores);
}

void DecodeScores(const DecodePart& part, const DecodeChunk& chunk, float* line) {
  WithSource(part, part.request->key, part.feature_map, line,
             [&](const auto& source) HWY_ATTR { ScoreSteps(part, chunk, source); });
  const ScoreContext context = MakeScoreContext(*part.request, *part.segment);
  const std::size_t dressed_end = chunk.end == part.key_count ? part.floats : chunk.end;
  for (std::size_t r = 0; r < part.rows.size(); ++r) {
    const BlockRow& row = part.rows[r];
    float* scores = part.scores + r * part.floats;
    if (context.soft_cap > 0.0) {
      CapScores(context.soft_cap, scores + chunk.begin, round_up(chunk.end - chunk.begin, kLanes));
    }
    for (std::size_t at = chunk.begin; at < dressed_end; at += kTileKeys) {
      const std::int64_t first = part.first + static_cast<std::int64_t>(at);
      const bool whole = row.begin <= first && first + static_cast<std::int64_t>(kTileKeys) <= row.end;
      if (!whole || context.has_overlay) DressTile(context, row, first, scores + at);
    }
  }
}

// Whole rows of values at a time where the sums fit the registers, so that memory is read in order.
template <std::size_t kRows, class Element>
HWY_INLINE void FoldStep(const float* weights, std::size_t weight_stride, const StepRows<Element>& values,
                         std::size_t count, std::size_t features, float* out, std::size_t out_stride) {
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
HWY_INLINE bool AnyWeight(const DecodePart& part, std::size_t at, std::size_t count) {
  for (std::size_t r = 0; r < part.rows.size(); ++r) {
    const float* weights = part.scores + r * part.floats + at;
    for (std::size_t i = 0; i < count; ++i) {
      if (weights[i] != 0.0f) return true;
    }
  }
  return false;
}

template <class Source>
HWY_NOINLINE void ValueSteps(const DecodePart& part, const DecodeChunk& chunk, const Source& source) {
  const AnyTensor<4>& value = part.request->value;
  const auto features = static_cast<std::size_t>(value.shape[3]);
  const std::size_t padded = round_up(features, kLanes), step = StepOf(part);
  const std::int64_t base = part.segment->batch * value.strides[0] + part.kv_head * value.strides[1] +
                            (part.segment->key_begin + part.first) * value.strides[2];
  for (std::size_t at = chunk.begin; at < chunk.end; at += step) {
    const std::size_t count = std::min(step, chunk.end - at);
    if (!AnyWeight(part, at, count)) continue;  // sparse rules never read these values
    const auto values = source(base + static_cast<std::int64_t>(at) * value.strides[2], count);
    for (std::size_t r = 0; r < part.rows.size();) {
      const float* weights = part.scores + r * part.floats + at;
      float* out = chunk.sums + r * padded;
      const std::size_t left = part.rows.size() - r;
      if (left >= 4 && features <= 4 * kLanes) {
        FoldStep<4>(weights, part.floats, values, count, features, out, padded);
        r += 4;
      } else if (left >= 2) {
        FoldStep<2>(weights, part.floats, values, count, features, out, padded);
        r += 2;
      } else {
        FoldStep<1>(weights, part.floats, values, count, features, out, padded);
        r += 1;
      }
    }
  }
}

void DecodeValues(const DecodePart& part, const DecodeChunk& chunk, float* line) {
  const auto features = static_cast<std::size_t>(part.request->value.shape[3]);
  std::fill_n(chunk.sums, part.rows.size() * round_up(features, kLanes), 0.0f);
  WithSource(part, part.request->value, false, line,
             [&](const auto& source) HWY_ATTR { ValueSteps(part, chunk, source); });
}

std::int64_t DecodeCountKeys(const AttentionRequest& request, const Segment& segment, const BlockRow& row) {
  return CountKeys(MakeScoreContext(request, segment), row);
}

void DecodeWriteOut(const AnyMutableTensor<4>& out, std::int64_t batch, const BlockRow& row, float scale,
                    const float* sum) {
  WriteOut(out, batch, row, scale, sum);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax {

HWY_EXPORT(DecodePadded);
HWY_EXPORT(DecodeQueries);
HWY_EXPORT(DecodeScores);
HWY_EXPORT(DecodeValues);
HWY_EXPORT(DecodeCountKeys);
HWY_EXPORT(DecodeWriteOut);

std::size_t decode_padded(std::size_t features) { return HWY_DYNAMIC_DISPATCH(DecodePadded)(features); }

std::size_t decode_line_floats(const AttentionRequest& request) {
  constexpr std::size_t kWidestStep = 4 * 16;  // StepOf on the widest instruction set
  return kWidestStep * static_cast<std::size_t>(std::max(request.key.shape[3], request.value.shape[3]));
}

void decode_queries(const DecodePart& part, double scale) { HWY_DYNAMIC_DISPATCH(DecodeQueries)(part, scale); }

void decode_scores(const DecodePart& part, const DecodeChunk& chunk, float* line) {
  HWY_DYNAMIC_DISPATCH(DecodeScores)(part, chunk, line);
}

void decode_values(const DecodePart& part, const DecodeChunk& chunk, float* line) {
  HWY_DYNAMIC_DISPATCH(DecodeValues)(part, chunk, line);
}

std::int64_t count_keys(const AttentionRequest& request, const Segment& segment, const BlockRow& row) {
  return HWY_DYNAMIC_DISPATCH(DecodeCountKeys)(request, segment, row);
}

void write_out(const AnyMutableTensor<4>& out, std::int64_t batch, const BlockRow& row, float scale,
               const float* sum) {
  HWY_DYNAMIC_DISPATCH(DecodeWriteOut)(out, batch, row, scale, sum);
}

}  // namespace sharpmax
#endif  // HWY_ONCE
