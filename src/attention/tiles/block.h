// What passes between the drivers (plain C++: plan, threads, workspace) and the kernels of each
// instruction set. Nothing here depends on the vector length but through TileShape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/rows/call.h"
#include "attention/rows/row.h"
#include "sharpmax/attention.h"
#include "sharpmax/fold.h"
#include "sharpmax/statistics.h"

namespace sharpmax {

struct TileShape {
  std::size_t rows;   // queries of a tile
  std::size_t keys;   // keys of a tile: 2 vectors
  std::size_t lanes;  // floats of a vector
};

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Keys of a block: weights of a row group against one block stay in L1, the block's keys and values
// in L2. By that reckoning, not by a sweep of sizes.
inline constexpr std::size_t kBlockKeys = 256;
// Rows of a block: how often the keys are streamed through L2. A multiple of every tile height.
inline constexpr std::size_t kBlockRows = 96;
// More parameters than any normalizer has.
inline constexpr std::size_t kMaxParameters = 8;

// One row of a block: one query of one query head, and the keys it may see.
struct BlockRow {
  std::int64_t head = 0;   // query head
  std::int64_t query = 0;  // absolute
  std::int64_t begin = 0;  // visible keys, counted from the segment's first
  std::int64_t end = 0;
  double beta = 1.0;  // folded into the packed query where the rule is known up front
};

// The rule of a row with `keys` unmasked keys. None: a row without keys has no rule to speak of.
inline Rule rule_for(const AnyNormalizer& normalizer, std::int64_t head, std::int64_t keys) {
  if (keys == 0) return {};
  return normalizer.definition().rule(HeadParameters(normalizer.parameters(), static_cast<std::size_t>(head)),
                                      static_cast<double>(keys));
}

// Keys and values of one segment and kv head, packed.
struct PackedHead {
  const Segment* segment = nullptr;
  std::int64_t kv_head = 0;
  std::size_t key_count = 0;
  float* keys = nullptr;            // [panel][feature][tile.keys]
  float* values = nullptr;          // [column panel][panel * tile.keys + key][width]
  float* keys_by_row = nullptr;     // backward: keys packed as values are
  float* values_by_panel = nullptr;  // backward: values packed as keys are
};

// The folds of a block's rows over one share of the keys, or over a node of the share tree.
struct BlockFolds {
  float* sums = nullptr;  // [block row][padded value_feature]
  Survey surveys[kBlockRows];
  std::int64_t peak_keys[kBlockRows];
};

// Merges the folds of `rows` rows, whose sums are `stride` floats apart.
void merge(BlockFolds& into, const BlockFolds& from, std::size_t rows, std::size_t stride) noexcept;

// What the fold of an exponential row leaves of it; `outcome` is that of a row without keys. The survey's tail is exact
// (summed without the largest), or a sum less 1, which is enough where nobody asks for the entropy of a sharp row.
enum class Tail { exact, of_sum };
void finish_fold(const Survey& survey, double beta, double sink, Tail tail, RowOutcome& outcome) noexcept;

// Per-thread scratch, sized by the plan before any block runs.
struct BlockScratch {
  float* queries = nullptr;  // [group][feature][tile.rows]
  float* folded = nullptr;   // [block row][padded value_feature]
  float* tiles = nullptr;    // [group][panel][tile.rows][tile.keys]; one group, one block of keys if streaming
  float* line = nullptr;     // one unpacked row of features for each row or key of a tile
  RowWorkspace* rows = nullptr;
  RowOutcome outcome;  // its arrays point at this thread's buffers
  std::span<BlockFolds> folds;  // slots of the share tree; empty if no row has more than one share
};

// One (batch, kv head) with all the segments it appears in.
struct Item {
  std::span<const Segment> segments;
  std::int64_t kv_head;
};

inline std::vector<Item> items_of(const AttentionRequest& request, std::span<const Segment> segments) {
  std::vector<Item> items;
  for (std::size_t begin = 0; begin < segments.size();) {
    std::size_t end = begin + 1;
    while (end < segments.size() && segments[end].batch == segments[begin].batch) ++end;
    for (std::int64_t kv = 0; kv < request.key.shape[1]; ++kv) {
      items.push_back({segments.subspan(begin, end - begin), kv});
    }
    begin = end;
  }
  return items;
}

// The rows of a segment under one kv head, cut into blocks. Rows run head by head; a block stays
// within its head unless heads are shorter than a tile.
class Blocks {
 public:
  Blocks(const Segment& segment, std::int64_t kv_head, std::int64_t group, std::size_t rows_per_block,
         std::size_t tile_rows)
      : segment_(segment),
        first_head_(kv_head * group),
        queries_(static_cast<std::size_t>(segment.query_end - segment.query_begin)),
        per_block_(rows_per_block) {
    const bool joined = queries_ < tile_rows;
    runs_ = joined ? 1 : static_cast<std::size_t>(group);
    run_rows_ = joined ? queries_ * static_cast<std::size_t>(group) : queries_;
    per_run_ = (run_rows_ + per_block_ - 1) / per_block_;
  }
  std::size_t count() const noexcept { return runs_ * per_run_; }
  // Fills `rows` and returns how many there are.
  std::size_t fill(std::size_t block, BlockRow* rows) const {
    const std::size_t run = block / per_run_, first = block % per_run_ * per_block_;
    const std::size_t last = std::min(first + per_block_, run_rows_);
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t flat = run * run_rows_ + i;
      BlockRow& row = rows[i - first];
      row.head = first_head_ + static_cast<std::int64_t>(flat / queries_);
      row.query = segment_.query_begin + static_cast<std::int64_t>(flat % queries_);
      const KeyRange keys = segment_.visible(row.query);
      row.begin = keys.begin - segment_.key_begin;
      row.end = keys.end - segment_.key_begin;
      row.beta = 1.0;
    }
    return last - first;
  }

 private:
  const Segment& segment_;
  std::int64_t first_head_;
  std::size_t queries_, per_block_, runs_, run_rows_, per_run_;
};

// Between what a row leaves behind (RowOutcome) and the caller's views (RowStatistics).

// Which by-products these statistics need of every row. Null: none.
RowWishes wishes_of(const RowStatistics* statistics);

// Whether they can be had without keeping a whole row of scores.
bool fits_streaming(const RowStatistics* statistics);

// Writes one row to its place.
void write_row(const RowStatistics& statistics, std::int64_t batch, std::int64_t head, std::int64_t query,
               const RowOutcome& outcome);

// What a row without keys leaves behind, but for its arrays: they stay where they point, emptied.
void empty_outcome(const RowWishes& wishes, RowOutcome& outcome);

// Column mass and the downsampled map of one (batch, query head), filled row by row. The rows of a
// head come in order and from one thread, so the sums do not depend on how many threads there are.
class ColumnStatistics {
 public:
  static bool wanted(const RowStatistics* statistics) noexcept {
    return statistics != nullptr && (statistics->column_mass.present() || statistics->map.present());
  }
  ColumnStatistics(const RowStatistics& statistics, std::int64_t queries, std::int64_t keys)
      : statistics_(statistics), queries_(queries), keys_(keys), sums_(static_cast<std::size_t>(keys), 0.0) {}

  // The row's weights (scale * what it holds), first_key absolute; keys past `keys` are ignored.
  void add(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t first_key,
           const ScoreRow& weights, float scale);
  // Writes what has been gathered; call after the last row.
  void flush();

 private:
  std::int64_t map_row(std::int64_t query) const noexcept;

  const RowStatistics& statistics_;
  std::int64_t queries_, keys_;
  std::vector<double> sums_;  // of the current map row
  std::int64_t batch_ = -1, head_ = -1, row_ = -1;
  std::int64_t touched_begin_ = 0, touched_end_ = 0;
};

// Sets column mass and map to zero.
void clear_columns(const RowStatistics& statistics);

// Many queries: the kernels of one block, for whichever instruction set is in use.

TileShape tile_shape();

// How a block is to be run; the same for all blocks of a call.
struct ForwardJob {
  const ForwardCall* call = nullptr;
  bool streaming = false;    // exponential rule, nothing asked that needs a whole row
  bool feature_map = false;  // linear: phi of queries and keys
  double scale = 1.0;
  RowWishes wishes;
};

// Panels [begin, end) of the head's keys and values.
void pack_head(const AttentionRequest& request, const PackedHead& head, bool feature_map, std::size_t begin,
               std::size_t end, float* line);

// One block of at most kBlockRows rows (whole-row plan: as many as the scratch was sized for).
// `columns` null: no column statistics.
void prefill_block(const ForwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                   const BlockScratch& scratch, ColumnStatistics* columns);

// Floats of BlockScratch::line.
std::size_t line_floats(const AttentionRequest& request);

// Few queries: keys and values are read once, where they lie, for all query heads that share them.
//
// Three passes: scores of a chunk of keys for every row; each row resolved over the keys of its part (its scores are
// a fraction of one key's bytes, so a second look at them is free); values folded chunk by chunk.

// At most this many rows (queries x query heads of a kv head) are worth reading unpacked keys for.
inline constexpr std::size_t kDecodeRows = 16;
// Keys of a chunk: the unit of work, and of the sums. By shape alone.
inline constexpr std::size_t kDecodeChunk = 2048;

// Some keys of one segment and kv head: those that any of its rows sees, or those of one share. Rows hold `floats`
// scores each, for keys [first, first + key_count) of the segment, padded to whole tiles.
struct DecodePart {
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
};

// Keys [begin, end) of a part, counted from its first.
struct DecodeChunk {
  std::size_t part = 0;  // index among the parts of the plan
  std::size_t begin = 0, end = 0;
  float* sums = nullptr;  // [row][padded value_feature]
};

// Features rounded up to whole vectors.
std::size_t decode_padded(std::size_t features);
// Floats of the `line` scratch that the passes below want.
std::size_t decode_line_floats(const AttentionRequest& request);

void decode_queries(const DecodePart& part, double scale);
void decode_scores(const DecodePart& part, const DecodeChunk& chunk, float* line);
// Sums of the chunk's values by the weights that the scores have become.
void decode_values(const DecodePart& part, const DecodeChunk& chunk, float* line);
// Unmasked keys of a row in its whole segment.
std::int64_t count_keys(const AttentionRequest& request, const Segment& segment, const BlockRow& row);
// out = scale * sum
void write_out(const AnyMutableTensor<4>& out, std::int64_t batch, const BlockRow& row, float scale, const float* sum);

// The backward of one block of queries, for whichever instruction set is in use.
//
// Five products: scores again, dP = dO V^T, then dQ = dS K, dK = dS^T Q, dV = P^T dO. Exponential rules
// with what the forward saved run key block by key block; every other rule keeps the whole rows of
// scores and of dP, and lets the row turn them into weights and score gradients.

struct BackwardJob {
  const BackwardCall* call = nullptr;
  bool streaming = false;
  bool feature_map = false;
  double scale = 1.0;
  std::size_t parameters = 0;  // gradients wanted; 0: none
  double* d_bias = nullptr;    // dense [batch, head, query, key] of the gradient's own shape; null: not wanted
};

// What a stripe (blocks run in order by one owner) sums into.
struct StripeSums {
  float* d_keys = nullptr;          // [padded key][padded feature]
  float* d_values = nullptr;        // [padded key][padded value_feature]
  double* d_parameters = nullptr;   // [parameter][query head]
};

struct BackwardScratch {
  float* queries = nullptr;           // [group][feature][tile.rows], scaled
  float* d_out = nullptr;             // [group][value_feature][tile.rows]
  float* queries_by_row = nullptr;    // [column panel][row][width], scaled
  float* d_out_by_row = nullptr;      // likewise
  float* d_queries = nullptr;         // [row][padded feature]
  float* weights = nullptr;           // tiles: P
  float* d_scores = nullptr;          // tiles: dP, then dS
  float* slopes = nullptr;            // tiles: of the soft cap; null: there is none
  float* line = nullptr;
  RowWorkspace* rows = nullptr;
};

void backward_block(const BackwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                    const BackwardScratch& scratch, const StripeSums& sums);

// Writes keys [begin, end) of a head's gradients from `stripes` sums, added in order.
void write_key_gradients(const BackwardJob& job, const PackedHead& head, std::span<const StripeSums> stripes,
                         std::size_t begin, std::size_t end);

}  // namespace sharpmax
