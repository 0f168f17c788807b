// Few queries: keys and values are read once, where they lie, for all query heads that share them.
//
// Three passes: scores of a chunk of keys for every row; each row resolved whole (its n scores are a
// fraction of one key's bytes, so a second look at them is free); values folded chunk by chunk.
#pragma once

#include <span>

#include "attention/kernels/block.h"

namespace sharpmax {

// At most this many rows (queries x query heads of a kv head) are worth reading unpacked keys for.
inline constexpr std::size_t kDecodeRows = 16;
// Keys of a chunk: the unit of work, and of the sums. By shape alone.
inline constexpr std::size_t kDecodeChunk = 2048;

// One segment and kv head. Rows hold `floats` scores each, for keys [first, first + key_count) of the
// segment, padded to whole tiles.
struct DecodeHead {
  const AttentionRequest* request = nullptr;
  const Segment* segment = nullptr;
  std::int64_t kv_head = 0;
  std::int64_t first = 0;
  std::size_t key_count = 0;
  std::size_t floats = 0;
  bool feature_map = false;
  std::span<const BlockRow> rows;
  float* queries = nullptr;  // [row][padded feature], scaled
  float* scores = nullptr;   // [row][floats]
  float* partial = nullptr;  // [chunk][row][padded value_feature]
};

// Features rounded up to whole vectors.
std::size_t decode_padded(std::size_t features);
// Floats of the `line` scratch that the passes below want.
std::size_t decode_line_floats(const AttentionRequest& request);

void decode_queries(const DecodeHead& head, double scale);
void decode_scores(const DecodeHead& head, std::size_t chunk, float* line);
// Resolves row `row` in place. `rows`: this thread's workspace.
void decode_resolve(const DecodeHead& head, std::size_t row, const AnyNormalizer& normalizer,
                    const RowWishes& wishes, RowWorkspace& rows, RowOutcome& outcome);
void decode_values(const DecodeHead& head, std::size_t chunk, float* line);
// Sums the chunks' partial results of a row, in order, times scale, into out.
void decode_finish(const DecodeHead& head, std::size_t row, float scale, const AnyMutableTensor<4>& out);

// The driver of these passes.
void run_decode(const PrefillJob& job, std::span<const Item> items);

}  // namespace sharpmax
