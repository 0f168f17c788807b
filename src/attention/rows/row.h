// One row of scores on its way to becoming weights, as the kernels keep it.
//
// Rows live in scratch as score tiles lay them: runs ("chunks") of `lanes` floats, one chunk every
// `stride` floats. Key first_key + c * lanes + l is lane l of chunk c. Lanes without a key hold -inf.
// A plain contiguous row is the case stride == lanes. Vectors never straddle chunks: `lanes` is a
// multiple of the vector length of the instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "normalizer/definition.h"

namespace sharpmax {

struct ScoreRow {
  float* data = nullptr;
  std::size_t chunks = 0;
  std::size_t stride = 0;  // floats from one chunk to the next
  std::size_t lanes = 0;   // floats in a chunk
};

// Which by-products a row should leave. The kernels pay only for what is asked.
struct RowWishes {
  bool entropy = false;    // entropy
  bool peak = false;       // peak_weight
  bool peak_key = false;   // peak_key; peak too
  bool support = false;    // support
  bool spread = false;     // score_spread
  bool first = false;      // first_weight
  std::size_t top = 0;     // top_keys, top_weights: how many
  std::span<const double> gaps;  // gap_counts
};

// What is known of the row before it is resolved.
struct RowTask {
  const AnyNormalizer* normalizer = nullptr;
  std::size_t head = 0;
  std::int64_t first_key = 0;  // index of lane 0 of chunk 0
  std::int64_t keys = -1;      // unmasked keys (scores > -inf); -1: count them
};

// What one row leaves behind. Indices are keys (first_key added).
struct RowOutcome {
  float scale = 0.0f;  // weight = scale * what the row holds now; 0 for an empty row, NaN if poisoned
  double mass = 0.0;   // sum of weights
  RowFacts facts;
  double entropy = 0.0;      // of w / sum w
  double peak_weight = 0.0;  // of w / sum w
  std::int64_t peak_key = -1;
  std::int64_t support = 0;
  double score_spread = 0.0;
  double first_weight = 0.0;  // of w / sum w
  // Where the caller wants them written (sizes as in RowWishes); null: not wanted.
  std::int64_t* top_keys = nullptr;
  double* top_weights = nullptr;
  std::int64_t* gap_counts = nullptr;
};

// In each instruction set's namespace (rows/resolve-inl.h, rows/backward-inl.h):
//
//   // Scores in, unnormalised weights out, in place. Lanes without a key end as exactly 0.
//   void ResolveRow(const RowTask&, const RowWishes&, const ScoreRow& row, RowWorkspace&, RowOutcome&);
//
//   // `scores` in, weights (scale already multiplied in) out; `d_weights` in, d_scores out, in
//   // place, same layout and stride. d_parameters += (may be empty: then not computed).
//   void BackwardRow(const RowTask&, const ScoreRow& scores, const ScoreRow& d_weights, RowWorkspace&,
//                    std::span<double> d_parameters);
//
// A RowWorkspace is per thread: buffers sized once, before any row runs, from the longest row
// (candidates of sparse maps, doubles for the specification). Nothing allocates afterwards.

}  // namespace sharpmax
