// All rows of some heads of one layer: scores and weights again from queries and keys, in double, and
// everything that the plan wants of them. n x n memory for the products of the vectors x, of one key head at
// a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "audit/analysis/head_sums.h"
#include "model/transformer/session.h"

namespace sharpmax::audit {

struct BlockJob {
  const RowPlan* plan = nullptr;
  Vectors vectors = Vectors::values;
  std::int64_t chunk = 0;  // of the text: random numbers are its own
  int threads = 1;
  std::function<void()> pause;  // between pieces of work, on any thread; it may throw to end the analysis
};

// Adds to heads[0 .. block.heads). The block must hold all tokens of the plan's L and begin at position 0.
// Bitwise the same for any number of threads.
void analyze_block(const model::AttentionBlock& block, const BlockJob& job, std::span<HeadSums> heads);

}  // namespace sharpmax::audit
