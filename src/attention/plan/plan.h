// A Plan is how one call will be carried out: the form of the work, its cut into parts, the order in which parts
// merge, and all of the memory.
//
// Making a plan may allocate and throw. run() does neither, but for what a CustomNormalizer throws. The cut depends
// on shape, rule and statistics alone, and every sum has one owner and one order; so the number of threads
// changes who computes a number but never its bits.
#pragma once

#include <memory>
#include <vector>

#include "attention/rows/call.h"
#include "attention/tiles/block.h"

namespace sharpmax {

class Plan {
 public:
  virtual ~Plan() = default;
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  virtual void run() = 0;
};

// The plan of a call, which must outlive it.
std::unique_ptr<Plan> plan_forward(const ForwardCall& call);
std::unique_ptr<Plan> plan_backward(const BackwardCall& call);

// Rows of scores need no plan: a row is a task.
void run_normalize(const NormalizeCall& call);
void run_normalize_backward(const NormalizeBackwardCall& call);

// The forms. Each is given what outlives it.

// Many queries, blocks of rows at a time: streaming, or with whole rows kept.
std::unique_ptr<Plan> plan_prefill(const ForwardJob& job, std::span<const Item> items);
// Few queries: keys and values are read where they lie, once.
std::unique_ptr<Plan> plan_decode(const ForwardJob& job, std::span<const Item> items);
// `linear`, by a running state: cost grows with the number of keys, not with its square.
std::unique_ptr<Plan> plan_linear(const ForwardJob& job, std::span<const Item> items);
std::unique_ptr<Plan> plan_linear_backward(const BackwardCall& call, std::span<const Item> items);

// Whether a running state can take the place of the rows: every row sees a beginning of its segment's keys (no
// mask, no window), there are more rows than decode has, and nobody asks for statistics of single weights.
bool runs_by_state(const AttentionRequest& request, std::span<const Segment> segments,
                   const RowStatistics* statistics);

// Whole rows are kept for as many rows of a block as fit into this much of L2, but at least one tile's height. The
// backward has two tiles for every score.
inline constexpr std::size_t kWholeRowBytes = 512 * 1024;

// Keys of the longest segment.
std::int64_t longest_of(std::span<const Segment> segments);
// Few rows per kv head in every segment: keys are better read where they lie.
bool is_decode(const AttentionRequest& request, std::span<const Segment> segments);

}  // namespace sharpmax
