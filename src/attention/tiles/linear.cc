// Linear attention: see linear.h.
#include "attention/tiles/linear.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/tiles/linear.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/rows/math-inl.h"
#include "attention/tiles/pack-inl.h"
#include "attention/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// A matrix of floats: element (i, j) is data[i * row + j * column].
struct Matrix {
  const float* data;
  std::size_t row, column;
};

template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void MultiplyTile(const Matrix& left, const float* HWY_RESTRICT right, std::size_t right_stride,
                             std::size_t depth, bool add, float* HWY_RESTRICT out, std::size_t out_stride) {
  const FloatTag d;
  FloatVec sum[kRows][kVectors];
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      sum[r][v] = add ? hn::LoadU(d, out + r * out_stride + v * kLanes) : hn::Zero(d);
    }
  }
  const float* HWY_RESTRICT a = left.data;
  for (std::size_t k = 0; k < depth; ++k, a += left.column, right += right_stride) {
    FloatVec b[kVectors];
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) b[v] = hn::LoadU(d, right + v * kLanes);
    SHARPMAX_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const FloatVec factor = hn::Set(d, a[r * left.row]);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(factor, b[v], sum[r][v]);
    }
  }
  SHARPMAX_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    SHARPMAX_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, out + r * out_stride + v * kLanes);
  }
}

template <std::size_t kRows>
HWY_INLINE void MultiplyRows(const Matrix& left, const float* right, std::size_t right_stride, std::size_t depth,
                             std::size_t columns, bool add, float* out, std::size_t out_stride) {
  constexpr std::size_t kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  std::size_t c = 0;
  for (; c + kVectors * kLanes <= columns; c += kVectors * kLanes) {
    MultiplyTile<kRows, kVectors>(left, right + c, right_stride, depth, add, out + c, out_stride);
  }
  for (; c < columns; c += kLanes) {
    MultiplyTile<kRows, 1>(left, right + c, right_stride, depth, add, out + c, out_stride);
  }
}

enum class Into { fresh, sum };

// out = left . right, or out += it: `rows` x `depth` times `depth` x `columns`, columns in whole vectors.
static HWY_NOINLINE HWY_MAYBE_UNUSED void Multiply(Into into, Matrix left, const float* right,
                                                   std::size_t right_stride, std::size_t rows, std::size_t depth,
                                                   std::size_t columns, float* out, std::size_t out_stride) {
  constexpr std::size_t kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 4;
  const bool add = into == Into::sum;
  std::size_t r = 0;
  for (; r + kRows <= rows; r += kRows, left.data += kRows * left.row) {
    MultiplyRows<kRows>(left, right, right_stride, depth, columns, add, out + r * out_stride, out_stride);
  }
  for (; r < rows; ++r, left.data += left.row) {
    MultiplyRows<1>(left, right, right_stride, depth, columns, add, out + r * out_stride, out_stride);
  }
}

// Sum of a[i] b[i] over whole vectors.
HWY_INLINE float Dot(const float* a, const float* b, std::size_t count) {
  const FloatTag d;
  FloatVec sum = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += kLanes) sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

HWY_INLINE float Sum(const float* a, std::size_t count) {
  const FloatTag d;
  FloatVec sum = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += kLanes) sum = hn::Add(sum, hn::LoadU(d, a + i));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// to[i] += factor * from[i]
HWY_INLINE void AddTo(float* HWY_RESTRICT to, const float* HWY_RESTRICT from, float factor, std::size_t count) {
  const FloatTag d;
  const FloatVec f = hn::Set(d, factor);
  for (std::size_t i = 0; i < count; i += kLanes) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, from + i), hn::LoadU(d, to + i)), d, to + i);
  }
}

HWY_INLINE void Scale(float* row, float factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) row[i] *= factor;
}

// phi' from phi: 1 above 0, where phi is above 1, and phi itself below.
HWY_INLINE void ThroughPhi(const float* phi, std::size_t count, float* gradient) {
  for (std::size_t i = 0; i < count; ++i) gradient[i] *= phi[i] > 1.0f ? 1.0f : phi[i];
}

// phi = elu + 1 of the first `count` of a row of whole vectors; what is behind them stays 0.
HWY_INLINE void Phi(float* row, std::size_t count) {
  const FloatTag d;
  const FloatVec zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  const Exponential exponential(1.0);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const FloatVec x = hn::LoadU(d, row + i);
    const auto positive = hn::Gt(x, zero);
    const FloatVec below = exponential(hn::IfThenZeroElse(positive, x));  // not Min, which would drop a NaN
    hn::StoreU(hn::IfThenElse(positive, hn::Add(x, one), below), d, row + i);
  }
  std::fill(row + count, row + round_up(count, kLanes), 0.0f);
}

struct LinearSizes {
  std::size_t feature, value_feature;  // as they are
  std::size_t d, v;                    // in whole vectors

  explicit LinearSizes(const AttentionRequest& request)
      : feature(static_cast<std::size_t>(request.query.shape[3])),
        value_feature(static_cast<std::size_t>(request.value.shape[3])),
        d(round_up(feature, kLanes)),
        v(round_up(value_feature, kLanes)) {}
};

// Rows [first, first + count) of a head as [row][stride] with zeros behind; rows past `count` are 0.
HWY_INLINE void ReadRows(const AnyTensor<4>& from, std::int64_t batch, std::int64_t head, std::int64_t first,
                         std::size_t count, bool feature_map, std::size_t stride, float* to) {
  const auto features = static_cast<std::size_t>(from.shape[3]);
  std::fill_n(to, kLinearChunk * stride, 0.0f);
  for (std::size_t i = 0; i < count; ++i) {
    ReadFloats(from.data, from.dtype,
               batch * from.strides[0] + head * from.strides[1] +
                   (first + static_cast<std::int64_t>(i)) * from.strides[2],
               features, to + i * stride);
    if (feature_map) Phi(to + i * stride, features);
  }
}

// to = from^T, [columns][kLinearChunk] of [kLinearChunk][columns].
HWY_INLINE void Turn(const float* from, std::size_t columns, float* to) {
  for (std::size_t i = 0; i < kLinearChunk; i += 4, from += 4 * columns) {
    const float* const rows[4] = {from, from + columns, from + 2 * columns, from + 3 * columns};
    TransposeRows(rows, 4, columns, kLinearChunk, to + i);
  }
}

// Walks the chunks of a segment, and the queries whose keys end in each.
class LinearWalk {
 public:
  explicit LinearWalk(const Segment& segment)
      : segment_(segment), keys_(static_cast<std::size_t>(segment.key_end - segment.key_begin)) {}

  std::size_t chunks() const { return (keys_ + kLinearChunk - 1) / kLinearChunk; }
  std::size_t begin(std::size_t chunk) const { return chunk * kLinearChunk; }
  std::size_t count(std::size_t chunk) const { return std::min(kLinearChunk, keys_ - begin(chunk)); }

  // Keys of the segment, from its first, that the query sees.
  std::int64_t end(std::int64_t query) const { return segment_.visible(query).end - segment_.key_begin; }
  // The first query that sees more than `keys` keys. More are seen by later queries, never fewer.
  std::int64_t first_beyond(std::int64_t keys) const {
    std::int64_t low = segment_.query_begin, high = segment_.query_end;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (end(middle) > keys) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  // Queries whose keys end in the chunk: [first, second).
  std::pair<std::int64_t, std::int64_t> queries(std::size_t chunk) const {
    return {first_beyond(static_cast<std::int64_t>(begin(chunk))),
            first_beyond(static_cast<std::int64_t>(begin(chunk) + count(chunk)))};
  }

 private:
  const Segment& segment_;
  std::size_t keys_;
};

// Up to kLinearChunk rows of one query head, whose keys all end in one chunk.
struct LinearRows {
  std::int64_t head;
  std::int64_t query;  // the first
  std::size_t count;
};

// body(rows) for the rows of a chunk under every query head of the item.
template <class Body>
HWY_INLINE void ForRows(const AttentionRequest& request, const LinearItem& item,
                        const std::pair<std::int64_t, std::int64_t>& queries, const Body& body) {
  const std::int64_t group = request.query.shape[1] / request.key.shape[1];
  constexpr auto kStep = static_cast<std::int64_t>(kLinearChunk);
  for (std::int64_t h = item.kv_head * group; h < (item.kv_head + 1) * group; ++h) {
    for (std::int64_t q = queries.first; q < queries.second; q += kStep) {
      body(LinearRows{h, q, static_cast<std::size_t>(std::min(kStep, queries.second - q))});
    }
  }
}

// Scores of the rows against the chunk that has been read, and their output before it is divided by its mass.
HWY_INLINE void ScoreRows(const LinearSizes& size, const LinearWalk& walk, std::size_t chunk, const LinearRows& rows,
                          const LinearScratch& s, float* masses) {
  Multiply(Into::fresh, {s.queries, size.d, 1}, s.keys_turned, kLinearChunk, rows.count, size.feature, kLinearChunk,
           s.scores, kLinearChunk);
  for (std::size_t r = 0; r < rows.count; ++r) {
    float* scores = s.scores + r * kLinearChunk;
    const auto seen = static_cast<std::size_t>(walk.end(rows.query + static_cast<std::int64_t>(r))) - walk.begin(chunk);
    std::fill(scores + std::min(seen, kLinearChunk), scores + kLinearChunk, 0.0f);
    masses[r] = Dot(s.queries + r * size.d, s.mass, size.d) + Sum(scores, kLinearChunk);
  }
  Multiply(Into::fresh, {s.queries, size.d, 1}, s.state, size.v, rows.count, size.feature, size.v, s.out, size.v);
  Multiply(Into::sum, {s.scores, kLinearChunk, 1}, s.values, size.v, rows.count, walk.count(chunk), size.v, s.out,
           size.v);
}

// 1 / mass; 0 where there is no weight at all, NaN where a score was NaN or infinite.
HWY_INLINE float ScaleOf(float mass) {
  if (!(mass < std::numeric_limits<float>::infinity())) return std::numeric_limits<float>::quiet_NaN();
  return mass > 0.0f ? 1.0f / mass : 0.0f;
}

HWY_INLINE void ReadChunk(const AttentionRequest& request, const LinearItem& item, const LinearSizes& size,
                          const LinearWalk& walk, std::size_t chunk, const LinearScratch& s) {
  const std::int64_t first = item.segment->key_begin + static_cast<std::int64_t>(walk.begin(chunk));
  ReadRows(request.key, item.segment->batch, item.kv_head, first, walk.count(chunk), true, size.d, s.keys);
  ReadRows(request.value, item.segment->batch, item.kv_head, first, walk.count(chunk), false, size.v, s.values);
}

// state += keys^T values, mass += the sum of the keys.
HWY_INLINE void AddChunk(const LinearSizes& size, std::size_t count, const LinearScratch& s) {
  Multiply(Into::sum, {s.keys, 1, size.d}, s.values, size.v, size.feature, count, size.v, s.state, size.v);
  for (std::size_t i = 0; i < count; ++i) AddTo(s.mass, s.keys + i * size.d, 1.0f, size.d);
}

void LinearForward(const ForwardJob& job, const LinearItem& item, const LinearScratch& s, RowOutcome& outcome) {
  const AttentionRequest& request = job.call->request;
  const std::int64_t batch = item.segment->batch;
  const LinearSizes size(request);
  const LinearWalk walk(*item.segment);
  const auto leave = [&](const BlockRow& row, float scale, double mass, const float* sum) {
    WriteOut(job.call->out, batch, row, scale, sum);
    if (job.call->statistics == nullptr) return;
    empty_outcome(job.wishes, outcome);
    if (sum != nullptr) {
      outcome.mass = std::isnan(scale) ? static_cast<double>(scale) : mass > 0.0 ? 1.0 : 0.0;
      outcome.facts = {};
    }
    write_row(*job.call->statistics, batch, row.head, row.query, outcome);
  };
  ForRows(request, item, {item.segment->query_begin, walk.first_beyond(0)}, [&](const LinearRows& rows) HWY_ATTR {
    for (std::size_t r = 0; r < rows.count; ++r) {
      leave({.head = rows.head, .query = rows.query + static_cast<std::int64_t>(r)}, 0.0f, 0.0, nullptr);
    }
  });
  std::fill_n(s.state, size.d * size.v, 0.0f);
  std::fill_n(s.mass, size.d, 0.0f);
  for (std::size_t chunk = 0; chunk < walk.chunks(); ++chunk) {
    ReadChunk(request, item, size, walk, chunk, s);
    Turn(s.keys, size.d, s.keys_turned);
    ForRows(request, item, walk.queries(chunk), [&](const LinearRows& rows) HWY_ATTR {
      float masses[kLinearChunk];
      ReadRows(request.query, batch, rows.head, rows.query, rows.count, true, size.d, s.queries);
      ScoreRows(size, walk, chunk, rows, s, masses);
      for (std::size_t r = 0; r < rows.count; ++r) {
        leave({.head = rows.head, .query = rows.query + static_cast<std::int64_t>(r)}, ScaleOf(masses[r]),
              static_cast<double>(masses[r]), s.out + r * size.v);
      }
    });
    AddChunk(size, walk.count(chunk), s);
  }
}

// Everything that the backward of one item refers to.
struct LinearGradient {
  const BackwardCall& call;
  const LinearItem& item;
  const LinearScratch& s;
  LinearSizes size;
  LinearWalk walk;

  float* RowAt(const AnyMutableTensor<4>& tensor, std::int64_t head, std::int64_t row) const {
    return static_cast<float*>(tensor.data) + item.segment->batch * tensor.strides[0] + head * tensor.strides[1] +
           row * tensor.strides[2];
  }
  // Of row_scales and row_means.
  std::size_t Place(const LinearRows& rows) const {
    const std::int64_t group = call.request.query.shape[1] / call.request.key.shape[1];
    const std::int64_t queries = item.segment->query_end - item.segment->query_begin;
    return static_cast<std::size_t>((rows.head - item.kv_head * group) * queries + rows.query -
                                    item.segment->query_begin);
  }
  void ReadQueries(const LinearRows& rows) const {
    ReadRows(call.request.query, item.segment->batch, rows.head, rows.query, rows.count, true, size.d, s.queries);
    ReadRows(call.d_out, item.segment->batch, rows.head, rows.query, rows.count, false, size.v, s.d_out);
  }
};

// The rows of a chunk, in the walk that has S and z: their gradient, and what they leave to the chunk's keys.
HWY_INLINE void GradeLinearRows(const LinearGradient& g, std::size_t chunk, const LinearRows& rows) {
  const LinearScratch& s = g.s;
  const LinearSizes& size = g.size;
  const std::size_t keys = g.walk.count(chunk), place = g.Place(rows);
  float masses[kLinearChunk];
  g.ReadQueries(rows);
  ScoreRows(size, g.walk, chunk, rows, s, masses);
  Multiply(Into::fresh, {s.d_out, size.v, 1}, s.values_turned, kLinearChunk, rows.count, size.value_feature,
           kLinearChunk, s.d_scores, kLinearChunk);
  Multiply(Into::fresh, {s.d_out, size.v, 1}, s.state_turned, size.d, rows.count, size.value_feature, size.d,
           s.d_queries, size.d);
  for (std::size_t r = 0; r < rows.count; ++r) {
    const float scale = ScaleOf(masses[r]);
    const float mean = scale * Dot(s.d_out + r * size.v, s.out + r * size.v, size.v);
    s.row_scales[place + r] = scale;
    s.row_means[place + r] = mean;
    const auto seen = std::min(
        kLinearChunk,
        static_cast<std::size_t>(g.walk.end(rows.query + static_cast<std::int64_t>(r))) - g.walk.begin(chunk));
    float* d_scores = s.d_scores + r * kLinearChunk;
    for (std::size_t k = 0; k < seen; ++k) d_scores[k] = scale * (d_scores[k] - mean);
    std::fill(d_scores + seen, d_scores + kLinearChunk, 0.0f);
    for (std::size_t k = 0; k < seen; ++k) s.scores[r * kLinearChunk + k] *= scale;
    AddTo(s.d_queries + r * size.d, s.mass, -mean, size.d);
    Scale(s.d_queries + r * size.d, scale, size.d);
  }
  Multiply(Into::sum, {s.d_scores, kLinearChunk, 1}, s.keys, size.d, rows.count, keys, size.d, s.d_queries, size.d);
  Multiply(Into::sum, {s.d_scores, 1, kLinearChunk}, s.queries, size.d, keys, rows.count, size.d, s.d_keys, size.d);
  Multiply(Into::sum, {s.scores, 1, kLinearChunk}, s.d_out, size.v, keys, rows.count, size.v, s.d_values, size.v);
  if (!g.call.gradients.query.present()) return;
  for (std::size_t r = 0; r < rows.count; ++r) {
    float* gradient = s.d_queries + r * size.d;
    ThroughPhi(s.queries + r * size.d, size.feature, gradient);
    std::copy_n(gradient, size.feature,
                g.RowAt(g.call.gradients.query, rows.head, rows.query + static_cast<std::int64_t>(r)));
  }
}

HWY_INLINE void AddToRows(const LinearGradient& g, const AnyMutableTensor<4>& to, std::size_t chunk, const float* rows,
                          std::size_t stride) {
  if (!to.present()) return;
  const std::int64_t first = g.item.segment->key_begin + static_cast<std::int64_t>(g.walk.begin(chunk));
  for (std::size_t k = 0; k < g.walk.count(chunk); ++k) {
    float* row = g.RowAt(to, g.item.kv_head, first + static_cast<std::int64_t>(k));
    for (std::size_t i = 0; i < static_cast<std::size_t>(to.shape[3]); ++i) row[i] += rows[k * stride + i];
  }
}

HWY_INLINE void WalkForward(const LinearGradient& g) {
  const LinearScratch& s = g.s;
  const LinearSizes& size = g.size;
  for (std::size_t chunk = 0; chunk < g.walk.chunks(); ++chunk) {
    ReadChunk(g.call.request, g.item, size, g.walk, chunk, s);
    Turn(s.keys, size.d, s.keys_turned);
    Turn(s.values, size.v, s.values_turned);
    std::fill_n(s.d_keys, kLinearChunk * size.d, 0.0f);
    std::fill_n(s.d_values, kLinearChunk * size.v, 0.0f);
    ForRows(g.call.request, g.item, g.walk.queries(chunk),
            [&](const LinearRows& rows) HWY_ATTR { GradeLinearRows(g, chunk, rows); });
    AddToRows(g, g.call.gradients.key, chunk, s.d_keys, size.d);
    AddToRows(g, g.call.gradients.value, chunk, s.d_values, size.v);
    const std::size_t count = g.walk.count(chunk);
    AddChunk(size, count, s);
    Multiply(Into::sum, {s.values, 1, size.v}, s.keys, size.d, size.value_feature, count, size.d, s.state_turned,
             size.d);
  }
}

// The walk that has H and h, of the rows behind the chunk.
HWY_INLINE void WalkBackward(const LinearGradient& g) {
  const LinearScratch& s = g.s;
  const LinearSizes& size = g.size;
  for (std::size_t chunk = g.walk.chunks(); chunk-- > 0;) {
    const std::size_t count = g.walk.count(chunk);
    ReadChunk(g.call.request, g.item, size, g.walk, chunk, s);
    Multiply(Into::fresh, {s.values, size.v, 1}, s.state_turned, size.d, count, size.value_feature, size.d, s.d_keys,
             size.d);
    for (std::size_t k = 0; k < count; ++k) AddTo(s.d_keys + k * size.d, s.mass, -1.0f, size.d);
    Multiply(Into::fresh, {s.keys, size.d, 1}, s.state, size.v, count, size.feature, size.v, s.d_values, size.v);
    AddToRows(g, g.call.gradients.key, chunk, s.d_keys, size.d);
    AddToRows(g, g.call.gradients.value, chunk, s.d_values, size.v);
    const std::int64_t first = g.item.segment->key_begin + static_cast<std::int64_t>(g.walk.begin(chunk));
    for (std::size_t k = 0; g.call.gradients.key.present() && k < count; ++k) {
      ThroughPhi(s.keys + k * size.d, size.feature,
                 g.RowAt(g.call.gradients.key, g.item.kv_head, first + static_cast<std::int64_t>(k)));
    }
    ForRows(g.call.request, g.item, g.walk.queries(chunk), [&](const LinearRows& rows) HWY_ATTR {
      const std::size_t place = g.Place(rows);
      g.ReadQueries(rows);
      for (std::size_t r = 0; r < rows.count; ++r) {
        Scale(s.queries + r * size.d, s.row_scales[place + r], size.feature);
        AddTo(s.mass, s.queries + r * size.d, s.row_means[place + r], size.d);
      }
      Multiply(Into::sum, {s.queries, 1, size.d}, s.d_out, size.v, size.feature, rows.count, size.v, s.state, size.v);
      Multiply(Into::sum, {s.d_out, 1, size.v}, s.queries, size.d, size.value_feature, rows.count, size.d,
               s.state_turned, size.d);
    });
  }
}

void LinearBackward(const BackwardCall& call, const LinearItem& item, const LinearScratch& s) {
  const LinearGradient g{call, item, s, LinearSizes(call.request), LinearWalk(*item.segment)};
  const auto clear = [&] {
    std::fill_n(s.state, g.size.d * g.size.v, 0.0f);
    std::fill_n(s.state_turned, g.size.d * g.size.v, 0.0f);
    std::fill_n(s.mass, g.size.d, 0.0f);
  };
  clear();
  WalkForward(g);
  clear();
  WalkBackward(g);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax {

HWY_EXPORT(LinearForward);
HWY_EXPORT(LinearBackward);

void linear_forward(const ForwardJob& job, const LinearItem& item, const LinearScratch& scratch,
                    RowOutcome& outcome) {
  HWY_DYNAMIC_DISPATCH(LinearForward)(job, item, scratch, outcome);
}

void linear_backward(const BackwardCall& call, const LinearItem& item, const LinearScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(LinearBackward)(call, item, scratch);
}

}  // namespace sharpmax
#endif  // HWY_ONCE
