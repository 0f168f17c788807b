#include <algorithm>
#include <memory>
#include <vector>

#include "attention/kernels/block.h"
#include "attention/kernels/thread_scratch.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

// Scores and partial results held at once; more heads than fit go in waves.
constexpr std::size_t kWaveFloats = 16 << 20;

// One segment and kv head with its own memory.
struct Lane {
  DecodeHead head;
  std::vector<BlockRow> rows;
  std::size_t chunks = 0;
};

std::vector<BlockRow> rows_of(const Segment& segment, std::int64_t kv_head, std::int64_t group) {
  std::vector<BlockRow> rows;
  for (std::int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (std::int64_t q = segment.query_begin; q < segment.query_end; ++q) {
      const KeyRange keys = segment.visible(q);
      rows.push_back({.head = h, .query = q, .begin = keys.begin - segment.key_begin,
                      .end = keys.end - segment.key_begin});
    }
  }
  return rows;
}

// The keys that any row sees, from a whole tile on.
void set_range(Lane& lane, std::size_t tile_keys) {
  std::int64_t begin = -1, end = 0;
  for (const BlockRow& row : lane.rows) {
    if (row.begin >= row.end) continue;
    begin = begin < 0 ? row.begin : std::min(begin, row.begin);
    end = std::max(end, row.end);
  }
  DecodeHead& head = lane.head;
  head.first = begin < 0 ? 0 : begin / static_cast<std::int64_t>(tile_keys) * static_cast<std::int64_t>(tile_keys);
  head.key_count = begin < 0 ? 0 : static_cast<std::size_t>(end - head.first);
  head.floats = round_up(head.key_count, tile_keys);
  lane.chunks = (head.key_count + kDecodeChunk - 1) / kDecodeChunk;
}

class Decode {
 public:
  Decode(const PrefillJob& job, std::span<const Item> items) : job_(job), call_(*job.call) {
    const AttentionRequest& request = call_.request;
    const std::int64_t group = request.query.shape[1] / request.key.shape[1];
    const std::size_t tile_keys = tile_shape().keys;
    for (const Item& item : items) {
      for (const Segment& segment : item.segments) {
        Lane lane;
        lane.rows = rows_of(segment, item.kv_head, group);
        if (lane.rows.empty()) continue;
        lane.head.request = &request;
        lane.head.segment = &segment;
        lane.head.kv_head = item.kv_head;
        lane.head.feature_map = job.feature_map;
        set_range(lane, tile_keys);
        lanes_.push_back(std::move(lane));
      }
    }
  }

  void run() {
    std::size_t longest = 1;
    for (const Lane& lane : lanes_) longest = std::max(longest, lane.head.floats);
    for (int t = 0; t < call_.threads; ++t) {
      lines_.push_back(allocate_floats(decode_line_floats(call_.request)));
      workspaces_.push_back(std::make_unique<RowWorkspace>(longest));
      outcomes_.emplace_back(job_.wishes);
    }
    // Two passes over the same cut: first how much the largest wave needs, then the waves.
    std::size_t needed = 0;
    for_each_wave([&](std::span<Lane> wave) { needed = std::max(needed, floats_of(wave)); });
    memory_ = allocate_floats(needed);
    for_each_wave([&](std::span<Lane> wave) { run_wave(wave); });
    write_columns_end();
  }

 private:
  std::size_t floats_of(const Lane& lane) const {
    const std::size_t rows = lane.rows.size();
    return rows * decode_padded(features()) + rows * lane.head.floats +
           std::max<std::size_t>(lane.chunks, 1) * rows * decode_padded(value_features()) + kAlignment;
  }
  std::size_t floats_of(std::span<const Lane> wave) const {
    std::size_t sum = 0;
    for (const Lane& lane : wave) sum += floats_of(lane);
    return sum;
  }

  template <class Body>
  void for_each_wave(const Body& body) {
    for (std::size_t begin = 0; begin < lanes_.size();) {
      std::size_t end = begin + 1, floats = floats_of(lanes_[begin]);
      while (end < lanes_.size() && floats + floats_of(lanes_[end]) <= kWaveFloats) floats += floats_of(lanes_[end++]);
      body(std::span<Lane>(lanes_).subspan(begin, end - begin));
      begin = end;
    }
  }

  void place(std::span<Lane> wave) {
    float* at = memory_.get();
    for (Lane& lane : wave) {
      const std::size_t rows = lane.rows.size();
      lane.head.rows = lane.rows;
      lane.head.scores = at;  // first: rows of scores want to be aligned
      lane.head.queries = at + rows * lane.head.floats;
      lane.head.partial = lane.head.queries + rows * decode_padded(features());
      at += round_up(floats_of(lane) - kAlignment, kAlignment);
    }
  }

  struct Task {
    Lane* lane;
    std::size_t index;
  };

  // Row statistics and the scale of every row; scales_ is indexed as the wave's rows are.
  void resolve(const Task& task, std::size_t place_in_wave, std::size_t thread) {
    RowOutcome& outcome = outcomes_[thread].outcome;
    empty_outcome(job_.wishes, outcome);
    const DecodeHead& head = task.lane->head;
    if (head.key_count > 0) {
      decode_resolve(head, task.index, call_.normalizer, job_.wishes, *workspaces_[thread], outcome);
    }
    scales_[place_in_wave] = outcome.scale;
    const BlockRow& row = task.lane->rows[task.index];
    if (call_.statistics != nullptr) {
      write_row(*call_.statistics, head.segment->batch, row.head, row.query, outcome);
    }
  }

  template <class Body>
  void for_each(const std::vector<Task>& tasks, const Body& body) const {
    parallel_for(call_.threads, static_cast<std::int64_t>(tasks.size()), [&](std::int64_t task, int thread) {
      const auto i = static_cast<std::size_t>(task);
      body(tasks[i], i, static_cast<std::size_t>(thread));
    });
  }

  void run_wave(std::span<Lane> wave) {
    place(wave);
    std::vector<Task> chunks, rows;
    for (Lane& lane : wave) {
      decode_queries(lane.head, job_.scale);
      for (std::size_t c = 0; c < lane.chunks; ++c) chunks.push_back({&lane, c});
      for (std::size_t r = 0; r < lane.rows.size(); ++r) rows.push_back({&lane, r});
    }
    scales_.assign(rows.size(), 0.0f);
    for_each(chunks, [&](const Task& chunk, std::size_t, std::size_t thread) {
      decode_scores(chunk.lane->head, chunk.index, lines_[thread].get());
    });
    for_each(rows, [&](const Task& row, std::size_t i, std::size_t thread) { resolve(row, i, thread); });
    for_each(chunks, [&](const Task& chunk, std::size_t, std::size_t thread) {
      decode_values(chunk.lane->head, chunk.index, lines_[thread].get());
    });
    for_each(rows, [&](const Task& row, std::size_t i, std::size_t) {
      decode_finish(row.lane->head, row.index, scales_[i], call_.out);
    });
    if (ColumnStatistics::wanted(call_.statistics)) add_columns(rows);
  }

  // In one order, by one thread: few rows, so it costs little.
  void add_columns(std::span<const Task> rows) {
    if (columns_ == nullptr) {
      columns_ = std::make_unique<ColumnStatistics>(*call_.statistics, call_.request.query.shape[2],
                                                    call_.request.key.shape[2]);
    }
    const std::size_t tile_keys = tile_shape().keys;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const DecodeHead& head = rows[i].lane->head;
      const BlockRow& row = rows[i].lane->rows[rows[i].index];
      const ScoreRow weights{.data = head.scores + rows[i].index * head.floats,
                             .chunks = head.floats / tile_keys,
                             .stride = tile_keys,
                             .lanes = tile_keys};
      columns_->add(head.segment->batch, row.head, row.query, head.segment->key_begin + head.first, weights,
                    scales_[i]);
    }
  }
  void write_columns_end() {
    if (columns_ != nullptr) columns_->flush();
  }

  std::size_t features() const { return static_cast<std::size_t>(call_.request.query.shape[3]); }
  std::size_t value_features() const { return static_cast<std::size_t>(call_.request.value.shape[3]); }

  static constexpr std::size_t kAlignment = 32;  // floats: 128 bytes

  const PrefillJob& job_;
  const ForwardCall& call_;
  std::vector<Lane> lanes_;
  std::vector<FloatBuffer> lines_;
  std::vector<std::unique_ptr<RowWorkspace>> workspaces_;
  std::vector<OutcomeBuffers> outcomes_;
  std::vector<float> scales_;
  FloatBuffer memory_;
  std::unique_ptr<ColumnStatistics> columns_;
};

}  // namespace

void run_decode(const PrefillJob& job, std::span<const Item> items) { Decode(job, items).run(); }

}  // namespace sharpmax
