// Many queries: the kernels of one block, for whichever instruction set is in use.
#pragma once

#include <span>

#include "attention/kernels/block.h"
#include "attention/kernels/row_statistics.h"

namespace sharpmax {

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
