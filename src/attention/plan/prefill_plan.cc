// Many queries: blocks of rows, each on one thread, against the packed keys and values of their head.
#include <algorithm>
#include <vector>

#include "attention/plan/plan.h"
#include "attention/plan/workspace.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

std::size_t rows_per_block(const ForwardJob& job, std::size_t longest, const TileShape& tile) {
  if (job.streaming) return kBlockRows;
  const std::size_t fitting = kWholeRowBytes / sizeof(float) / std::max<std::size_t>(longest, 1);
  return std::clamp(fitting / tile.rows * tile.rows, tile.rows, kBlockRows);
}

class PrefillPlan final : public Plan {
 public:
  PrefillPlan(const ForwardJob& job, std::span<const Item> items)
      : call_(*job.call),
        job_(job),
        items_(items),
        tile_(tile_shape()),
        group_(call_.request.query.shape[1] / call_.request.key.shape[1]),
        longest_(longest_of(call_.segments)),
        padded_(round_up(static_cast<std::size_t>(longest_), tile_.keys)),
        rows_(rows_per_block(job, padded_, tile_)) {
    const auto threads = static_cast<std::size_t>(call_.threads);
    const bool columns = ColumnStatistics::wanted(call_.statistics);
    // Alone: each thread packs and runs whole items. Together: all threads share one item's packed
    // head. Only who does what differs.
    alone_ = columns || items.size() >= 2 * threads;
    scratch_.reserve(threads);
    for (std::size_t t = 0; t < threads; ++t) scratch_.emplace_back(call_.request, job.wishes, scratch_sizes());
    packed_.resize(alone_ ? threads : 1);
    for (PackedBuffers& buffers : packed_) buffers.allocate(call_.request, padded_, tile_);
    if (!columns) return;
    const std::int64_t queries = call_.request.query.shape[2], keys = call_.request.key.shape[2];
    columns_.reserve(threads);
    for (std::size_t t = 0; t < threads; ++t) columns_.emplace_back(*call_.statistics, queries, keys);
  }

  void run() override {
    if (alone_) return run_alone();
    for (const Item& item : items_) run_together(item);
  }

 private:
  ScratchSizes scratch_sizes() const {
    const std::size_t panels = padded_ / tile_.keys;
    const std::size_t kept = job_.streaming ? kBlockKeys / tile_.keys : panels * (rows_ / tile_.rows);
    return {.rows = rows_,
            .tile_floats = kept * tile_.rows * tile_.keys,
            .longest_row = job_.streaming ? 0 : padded_,
            .shares = shares_of(longest_)};
  }

  void run_block(const PackedHead& head, const Blocks& blocks, std::size_t b, const ThreadScratch& scratch,
                 ColumnStatistics* columns) const {
    BlockRow rows[kBlockRows];
    const std::size_t count = blocks.fill(b, rows);
    prefill_block(job_, head, {rows, count}, scratch.view(), columns);
  }

  void run_alone() {
    parallel_for(call_.threads, static_cast<std::int64_t>(items_.size()), [&](std::int64_t task, int of_thread) {
      const Item& item = items_[static_cast<std::size_t>(task)];
      const auto thread = static_cast<std::size_t>(of_thread);
      ColumnStatistics* mine = columns_.empty() ? nullptr : &columns_[thread];
      for (const Segment& segment : item.segments) {
        const PackedHead head = packed_[thread].head(segment, item.kv_head);
        pack_head(call_.request, head, job_.feature_map, 0, round_up(head.key_count, tile_.keys) / tile_.keys,
                  scratch_[thread].view().line);
        const Blocks blocks(segment, item.kv_head, group_, rows_, tile_.rows);
        for (std::size_t b = 0; b < blocks.count(); ++b) run_block(head, blocks, b, scratch_[thread], mine);
      }
      if (mine != nullptr) mine->flush();
    });
  }

  void run_together(const Item& item) {
    for (const Segment& segment : item.segments) {
      const PackedHead head = packed_[0].head(segment, item.kv_head);
      const std::size_t panels = round_up(head.key_count, tile_.keys) / tile_.keys;
      const Blocks blocks(segment, item.kv_head, group_, rows_, tile_.rows);
      constexpr std::size_t kPackedAtOnce = 8;
      const std::size_t parts = (panels + kPackedAtOnce - 1) / kPackedAtOnce;
      parallel_for(call_.threads, static_cast<std::int64_t>(parts), [&](std::int64_t part, int thread) {
        const std::size_t p = static_cast<std::size_t>(part) * kPackedAtOnce;
        pack_head(call_.request, head, job_.feature_map, p, std::min(p + kPackedAtOnce, panels),
                  scratch_[static_cast<std::size_t>(thread)].view().line);
      });
      // Late causal blocks cost most: hand them out first.
      const auto count = static_cast<std::int64_t>(blocks.count());
      parallel_for(call_.threads, count, [&](std::int64_t b, int thread) {
        run_block(head, blocks, static_cast<std::size_t>(count - 1 - b), scratch_[static_cast<std::size_t>(thread)],
                  nullptr);
      });
    }
  }

  const ForwardCall& call_;
  const ForwardJob& job_;
  std::span<const Item> items_;
  TileShape tile_;
  std::int64_t group_;
  std::int64_t longest_;  // keys of the longest segment
  std::size_t padded_;    // ... in whole panels
  std::size_t rows_;
  bool alone_ = true;
  std::vector<ThreadScratch> scratch_;
  std::vector<PackedBuffers> packed_;
  std::vector<ColumnStatistics> columns_;  // of each thread; empty: not wanted
};

}  // namespace

std::unique_ptr<Plan> plan_prefill(const ForwardJob& job, std::span<const Item> items) {
  return std::make_unique<PrefillPlan>(job, items);
}

}  // namespace sharpmax
