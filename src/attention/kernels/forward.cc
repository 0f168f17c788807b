// The forward driver: which plan for which segment, who runs what, and all of the workspace.
//
// Work is cut by shape alone (items, blocks, chunks), and every sum has one owner and one order, so
// the number of threads changes who computes a number but never its bits.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <vector>

#include "attention/kernels.h"
#include "attention/kernels/block.h"
#include "attention/kernels/thread_scratch.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

// Queries that no segment holds are rows without keys: output 0, empty statistics.
void write_uncovered(const ForwardCall& call, const RowWishes& wishes) {
  const auto& out = call.out;
  OutcomeBuffers buffers(wishes);
  empty_outcome(wishes, buffers.outcome);
  std::vector<char> covered(static_cast<std::size_t>(out.shape[2]));
  for (std::int64_t b = 0; b < out.shape[0]; ++b) {
    std::fill(covered.begin(), covered.end(), 0);
    for (const Segment& segment : call.segments) {
      if (segment.batch != b) continue;
      std::fill(covered.begin() + segment.query_begin, covered.begin() + segment.query_end, 1);
    }
    for (std::int64_t q = 0; q < out.shape[2]; ++q) {
      if (covered[static_cast<std::size_t>(q)]) continue;
      for (std::int64_t h = 0; h < out.shape[1]; ++h) {
        auto* row = static_cast<std::uint8_t*>(out.data) +
                    (b * out.strides[0] + h * out.strides[1] + q * out.strides[2]) *
                        static_cast<std::int64_t>(size_of(out.dtype));
        std::fill_n(row, static_cast<std::size_t>(out.shape[3]) * size_of(out.dtype), std::uint8_t{0});
        if (call.statistics != nullptr) write_row(*call.statistics, b, h, q, buffers.outcome);
      }
    }
  }
}

// Scratch of the whole-row plan: as many rows as keep their scores within this much of L2, but at
// least one tile's height.
constexpr std::size_t kWholeRowBytes = 512 * 1024;

std::size_t rows_per_block(const PrefillJob& job, std::size_t longest, const TileShape& tile) {
  if (job.streaming) return kBlockRows;
  const std::size_t fitting = kWholeRowBytes / sizeof(float) / std::max<std::size_t>(longest, 1);
  return std::clamp(fitting / tile.rows * tile.rows, tile.rows, kBlockRows);
}

class Prefill {
 public:
  Prefill(const ForwardCall& call, const PrefillJob& job, std::size_t longest)
      : call_(call),
        job_(job),
        tile_(tile_shape()),
        group_(call.request.query.shape[1] / call.request.key.shape[1]),
        padded_(round_up(longest, tile_.keys)),
        rows_(rows_per_block(job, padded_, tile_)) {}

  void run(std::span<const Item> items) {
    const auto threads = static_cast<std::size_t>(call_.threads);
    // Alone: each thread packs and runs whole items. Together: all threads share one item's packed
    // head. Only who does what differs.
    const bool alone = ColumnStatistics::wanted(call_.statistics) || items.size() >= 2 * threads;
    std::vector<ThreadScratch> scratch;
    scratch.reserve(threads);
    for (std::size_t t = 0; t < threads; ++t) scratch.emplace_back(call_.request, job_.wishes, scratch_sizes());
    std::vector<PackedBuffers> packed(alone ? threads : 1);
    for (PackedBuffers& buffers : packed) buffers.allocate(call_.request, padded_, tile_);
    if (alone) {
      run_alone(items, scratch, packed);
    } else {
      for (const Item& item : items) run_together(item, scratch, packed[0]);
    }
  }

 private:
  ScratchSizes scratch_sizes() const {
    const std::size_t panels = padded_ / tile_.keys;
    const std::size_t kept = job_.streaming ? kBlockKeys / tile_.keys : panels * (rows_ / tile_.rows);
    return {.rows = rows_, .tile_floats = kept * tile_.rows * tile_.keys,
            .longest_row = job_.streaming ? 0 : padded_};
  }

  void run_block(const PackedHead& head, const Blocks& blocks, std::size_t b, ThreadScratch& scratch,
                 ColumnStatistics* columns) const {
    BlockRow rows[kBlockRows];
    const std::size_t count = blocks.fill(b, rows);
    prefill_block(job_, head, {rows, count}, scratch.view(), columns);
  }

  void run_alone(std::span<const Item> items, std::vector<ThreadScratch>& scratch,
                 std::vector<PackedBuffers>& packed) const {
    const std::int64_t queries = call_.request.query.shape[2], keys = call_.request.key.shape[2];
    const bool wanted = ColumnStatistics::wanted(call_.statistics);
    std::vector<ColumnStatistics> columns;
    if (wanted) columns = std::vector<ColumnStatistics>(scratch.size(), {*call_.statistics, queries, keys});
    parallel_for(call_.threads, static_cast<std::int64_t>(items.size()), [&](std::int64_t task, int of_thread) {
      const Item& item = items[static_cast<std::size_t>(task)];
      const auto thread = static_cast<std::size_t>(of_thread);
      ColumnStatistics* mine = wanted ? &columns[thread] : nullptr;
      for (const Segment& segment : item.segments) {
        const PackedHead head = packed[thread].head(segment, item.kv_head);
        pack_head(call_.request, head, job_.feature_map, 0, round_up(head.key_count, tile_.keys) / tile_.keys,
                  scratch[thread].view().line);
        const Blocks blocks(segment, item.kv_head, group_, rows_, tile_.rows);
        for (std::size_t b = 0; b < blocks.count(); ++b) run_block(head, blocks, b, scratch[thread], mine);
      }
      if (wanted) mine->flush();
    });
  }

  void run_together(const Item& item, std::vector<ThreadScratch>& scratch, PackedBuffers& packed) const {
    for (const Segment& segment : item.segments) {
      const PackedHead head = packed.head(segment, item.kv_head);
      const std::size_t panels = round_up(head.key_count, tile_.keys) / tile_.keys;
      const Blocks blocks(segment, item.kv_head, group_, rows_, tile_.rows);
      constexpr std::size_t kPackedAtOnce = 8;
      const std::size_t parts = (panels + kPackedAtOnce - 1) / kPackedAtOnce;
      parallel_for(call_.threads, static_cast<std::int64_t>(parts), [&](std::int64_t part, int thread) {
        const std::size_t p = static_cast<std::size_t>(part) * kPackedAtOnce;
        pack_head(call_.request, head, job_.feature_map, p, std::min(p + kPackedAtOnce, panels),
                  scratch[static_cast<std::size_t>(thread)].view().line);
      });
      // Late causal blocks cost most: hand them out first.
      const auto count = static_cast<std::int64_t>(blocks.count());
      parallel_for(call_.threads, count, [&](std::int64_t b, int thread) {
        run_block(head, blocks, static_cast<std::size_t>(count - 1 - b), scratch[static_cast<std::size_t>(thread)],
                  nullptr);
      });
    }
  }

  const ForwardCall& call_;
  const PrefillJob& job_;
  TileShape tile_;
  std::int64_t group_;
  std::size_t padded_;  // keys of the longest segment, in whole panels
  std::size_t rows_;
};

std::int64_t longest_of(std::span<const Segment> segments) {
  std::int64_t longest = 0;
  for (const Segment& segment : segments) longest = std::max(longest, segment.key_end - segment.key_begin);
  return longest;
}

// Whether every row of every head, whatever its length, is an exponential known before its scores. A rule's
// kind changes at most once as rows grow (top_k from k keys on, a temperature that turns negative), so
// the shortest and the longest row tell.
bool is_exponential(const AnyNormalizer& normalizer, std::int64_t heads, std::int64_t longest) {
  for (std::int64_t h = 0; h < heads; ++h) {
    for (const std::int64_t keys : {std::int64_t{1}, std::max<std::int64_t>(longest, 1)}) {
      if (rule_for(normalizer, h, keys).kind != RuleKind::exponential) return false;
    }
  }
  return true;
}

// Few rows per kv head in every segment: keys are better read where they lie.
bool is_decode(const ForwardCall& call) {
  const std::int64_t group = call.request.query.shape[1] / call.request.key.shape[1];
  return std::all_of(call.segments.begin(), call.segments.end(), [&](const Segment& segment) {
    return (segment.query_end - segment.query_begin) * group <= static_cast<std::int64_t>(kDecodeRows);
  });
}

}  // namespace

void run_forward(const ForwardCall& call) {
  choose_target();
  const bool linear = call.normalizer.definition().needs_queries_and_keys;
  PrefillJob job;
  job.call = &call;
  job.wishes = wishes_of(call.statistics);
  job.feature_map = linear;
  job.scale = linear ? 1.0 : scale_of(call.request);
  job.streaming = fits_streaming(call.statistics) &&
                  is_exponential(call.normalizer, call.request.query.shape[1], longest_of(call.segments));
  write_uncovered(call, job.wishes);
  if (call.statistics != nullptr) clear_columns(*call.statistics);
  const std::vector<Item> items = items_of(call.request, call.segments);
  if (items.empty()) return;
  if (is_decode(call)) {
    run_decode(job, items);
  } else {
    Prefill(call, job, static_cast<std::size_t>(longest_of(call.segments))).run(items);
  }
}

}  // namespace sharpmax
