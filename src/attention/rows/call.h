// What stands behind the doors: calls that have been validated. float32, bfloat16 and float16 go to a plan and its
// kernels, float64 to the oracle.
//
// Whoever carries out a call writes every element of every output, also of rows that belong to no segment (zeros;
// statistics as for a row with every key masked). `statistics` is null, or asks for at least one view;
// `threads` is at least 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "sharpmax/attention.h"

namespace sharpmax {

// A segment is a rectangle of queries x keys of one batch entry that attend to each other:
// the whole of it, what its lengths leave, or one packed document. Everything behind the doors
// works on segments and on the interval of keys that causality and window leave to a query.

struct KeyRange {
  std::int64_t begin = 0;  // absolute key index
  std::int64_t end = 0;    // begin >= end: the query sees nothing
};

struct Segment {
  std::int64_t batch = 0;
  std::int64_t query_begin = 0, query_end = 0;
  std::int64_t key_begin = 0, key_end = 0;
  // Query q's own position among the keys is q + diagonal; causal: keys up to and with it.
  std::int64_t diagonal = 0;
  std::int64_t left = -1, right = -1;  // window with causality folded in (right = 0); -1: no limit

  KeyRange visible(std::int64_t query) const noexcept {
    const std::int64_t own = query + diagonal;
    return {left < 0 ? key_begin : std::max(key_begin, own - left),
            right < 0 ? key_end : std::min(key_end, own + right + 1)};
  }
};

// Every segment of the request; queries in none of them are rows without keys. The request has
// been validated.
std::vector<Segment> segments_of(const AttentionRequest& request);

struct ForwardCall {
  const AttentionRequest& request;
  const AnyNormalizer& normalizer;
  std::span<const Segment> segments;
  AnyMutableTensor<4> out;
  const RowStatistics* statistics;
  int threads;
};

struct BackwardCall {
  const AttentionRequest& request;
  const AnyNormalizer& normalizer;
  std::span<const Segment> segments;
  AnyTensor<4> d_out;
  const AttentionGradients& gradients;
  const Saved& saved;
  int threads;
};

// scores and weights are float32.
struct NormalizeCall {
  AnyTensor<4> scores;
  const AnyNormalizer& normalizer;
  AnyMutableTensor<4> weights;
  const RowStatistics* statistics;
  int threads;
};

struct NormalizeBackwardCall {
  AnyTensor<4> scores;
  const AnyNormalizer& normalizer;
  AnyTensor<4> d_weights;
  AnyMutableTensor<4> d_scores;
  TensorView<double, 2> d_parameters;
  int threads;
};

// What scores are multiplied by.
inline double scale_of(const AttentionRequest& request) {
  return request.scale.value_or(1.0 / std::sqrt(static_cast<double>(request.query.shape[3])));
}

// A mask or bias with its dimensions of size 1 stretched: stride 0 where it is broadcast.
template <class View>
View broadcast_to(View view, const Extents<4>& shape) {
  for (std::size_t i = 0; i < 4; ++i) {
    if (view.shape[i] == 1) view.strides[i] = 0;
    view.shape[i] = shape[i];
  }
  return view;
}

// The instruction set in use, as kernels see it.

// Applies SHARPMAX_TARGET, once. Every door to the kernels calls it; throws Error if the variable
// names what this machine does not have.
void choose_target();

}  // namespace sharpmax
