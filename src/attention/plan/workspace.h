// The memory of one call: allocated before the first row, one scratch per thread.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "attention/tiles/block.h"
#include "attention/rows/row.h"

namespace sharpmax {

using FloatBuffer = hwy::AlignedFreeUniquePtr<float[]>;

// Aligned, not initialised; throws std::bad_alloc, never returns null.
FloatBuffer allocate_floats(std::size_t count);

// Room for the arrays of one row's outcome.
struct OutcomeBuffers {
  explicit OutcomeBuffers(const RowWishes& wishes)
      : top_keys(wishes.top), top_weights(wishes.top), gap_counts(wishes.gaps.size()) {
    outcome.top_keys = top_keys.data();
    outcome.top_weights = top_weights.data();
    outcome.gap_counts = gap_counts.data();
  }
  OutcomeBuffers(OutcomeBuffers&&) = default;

  std::vector<std::int64_t> top_keys;
  std::vector<double> top_weights;
  std::vector<std::int64_t> gap_counts;
  RowOutcome outcome;
};

struct ScratchSizes {
  std::size_t rows = 0;         // of a block
  std::size_t tile_floats = 0;  // of scores kept at once
  std::size_t longest_row = 0;  // 0: no row is resolved whole
  std::int64_t shares = 1;      // of the longest row
};

class ThreadScratch {
 public:
  ThreadScratch(const AttentionRequest& request, const RowWishes& wishes, const ScratchSizes& sizes);
  const BlockScratch& view() const noexcept { return view_; }

 private:
  FloatBuffer queries_, folded_, tiles_, line_, sums_;
  std::vector<BlockFolds> folds_;
  std::unique_ptr<RowWorkspace> rows_;
  OutcomeBuffers outcome_;
  BlockScratch view_;
};

// Keys and values of one head, packed; big enough for the longest segment.
class PackedBuffers {
 public:
  void allocate(const AttentionRequest& request, std::size_t padded_keys, const TileShape& tile);
  void allocate_for_backward(const AttentionRequest& request, std::size_t padded_keys, const TileShape& tile);
  PackedHead head(const Segment& segment, std::int64_t kv_head) const noexcept;

 private:
  FloatBuffer keys_, values_, keys_by_row_, values_by_panel_;
};

}  // namespace sharpmax
