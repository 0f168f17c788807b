// How the rows of a segment are cut into blocks.
#pragma once

#include <algorithm>

#include "attention/kernels/block.h"

namespace sharpmax {

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

}  // namespace sharpmax
