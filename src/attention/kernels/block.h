// What passes between the drivers (plain C++: plan, threads, workspace) and the kernels of each
// instruction set. Nothing here depends on the vector length but through TileShape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/kernels.h"
#include "attention/rows/row.h"
#include "sharpmax/attention.h"
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

// Per-thread scratch, sized by the driver before any block runs.
struct BlockScratch {
  float* queries = nullptr;  // [group][feature][tile.rows]
  float* folded = nullptr;   // [block row][padded value_feature]
  float* tiles = nullptr;    // [group][panel][tile.rows][tile.keys]; one group, one block of keys if streaming
  float* line = nullptr;     // one unpacked row of features for each row or key of a tile
  RowWorkspace* rows = nullptr;
  RowOutcome outcome;  // its arrays point at this thread's buffers
};

// Items: the unit that threads share out. One (batch, kv head) with all the segments it appears in.
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
struct PrefillJob {
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
void prefill_block(const PrefillJob& job, const PackedHead& head, std::span<BlockRow> rows,
                   const BlockScratch& scratch, ColumnStatistics* columns);

// Floats of BlockScratch::line.
std::size_t line_floats(const AttentionRequest& request);

}  // namespace sharpmax
