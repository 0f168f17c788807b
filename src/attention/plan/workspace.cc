#include "attention/plan/workspace.h"

#include <algorithm>
#include <new>

namespace sharpmax {

FloatBuffer allocate_floats(std::size_t count) {
  FloatBuffer buffer = hwy::AllocateAligned<float>(std::max<std::size_t>(count, 1));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

ThreadScratch::ThreadScratch(const AttentionRequest& request, const RowWishes& wishes, const ScratchSizes& sizes)
    : outcome_(wishes) {
  const TileShape tile = tile_shape();
  const std::size_t rows = round_up(sizes.rows, tile.rows);
  const auto features = static_cast<std::size_t>(request.query.shape[3]);
  const auto value_features = static_cast<std::size_t>(request.value.shape[3]);
  queries_ = allocate_floats(rows * features);
  folded_ = allocate_floats(rows * round_up(value_features, tile.keys));
  tiles_ = allocate_floats(sizes.tile_floats);
  line_ = allocate_floats(line_floats(request));
  if (sizes.longest_row > 0) rows_ = std::make_unique<RowWorkspace>(sizes.longest_row);
  if (sizes.shares > 1) {
    folds_.resize(ShareTree<BlockFolds>::slots_for(sizes.shares));
    const std::size_t slot = rows * round_up(value_features, tile.keys);
    sums_ = allocate_floats(folds_.size() * slot);
    for (std::size_t i = 0; i < folds_.size(); ++i) folds_[i].sums = sums_.get() + i * slot;
  }
  view_ = {.queries = queries_.get(),
           .folded = folded_.get(),
           .tiles = tiles_.get(),
           .line = line_.get(),
           .rows = rows_.get(),
           .outcome = outcome_.outcome,
           .folds = folds_};
}

void PackedBuffers::allocate(const AttentionRequest& request, std::size_t padded_keys, const TileShape& tile) {
  keys_ = allocate_floats(padded_keys * static_cast<std::size_t>(request.key.shape[3]));
  values_ = allocate_floats(padded_keys * round_up(static_cast<std::size_t>(request.value.shape[3]), tile.keys));
}

void PackedBuffers::allocate_for_backward(const AttentionRequest& request, std::size_t padded_keys,
                                          const TileShape& tile) {
  allocate(request, padded_keys, tile);
  keys_by_row_ =
      allocate_floats(padded_keys * round_up(static_cast<std::size_t>(request.key.shape[3]), tile.keys));
  values_by_panel_ = allocate_floats(padded_keys * static_cast<std::size_t>(request.value.shape[3]));
}

PackedHead PackedBuffers::head(const Segment& segment, std::int64_t kv_head) const noexcept {
  return {.segment = &segment,
          .kv_head = kv_head,
          .key_count = static_cast<std::size_t>(segment.key_end - segment.key_begin),
          .keys = keys_.get(),
          .values = values_.get(),
          .keys_by_row = keys_by_row_.get(),
          .values_by_panel = values_by_panel_.get()};
}

}  // namespace sharpmax
