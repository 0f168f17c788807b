// Few queries: parts of a head's keys, chunks of parts, and the folds that join them.
//
// A part is all keys that the rows of a head see, or, under a rule whose rows fold by shares, one share of them. Each
// part resolves its rows by itself; the folds of a row's shares merge along the share tree.
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "attention/plan/plan.h"
#include "attention/plan/workspace.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

// Scores and sums held at once; more heads than fit go in waves.
constexpr std::size_t kWaveFloats = 16 << 20;

// Indices [begin, end) into one of the plan's lists.
struct Indices {
  std::size_t begin = 0, end = 0;
  std::size_t size() const noexcept { return end - begin; }
};

// Rows that share their keys: one segment and kv head.
struct DecodeGroup {
  const Segment* segment = nullptr;
  std::int64_t kv_head = 0;
  std::int64_t first = 0, last = 0;  // keys of the segment that any row sees, from a whole tile on
  Indices rows, parts, chunks;
  Indices part_rows;  // [part][row]

  bool whole() const noexcept { return parts.size() == 1; }
};

// A row in a part.
struct PartRow {
  std::size_t group = 0, part = 0, row = 0;  // row: within its group
  float scale = 0.0f;
  Survey survey;
  std::int64_t peak_key = -1;
};

// What fits into the memory of the plan together.
struct Wave {
  Indices groups, chunks, part_rows;
};

class DecodePlan final : public Plan {
 public:
  DecodePlan(const ForwardJob& job, std::span<const Item> items)
      : job_(job), call_(*job.call), tile_keys_(tile_shape().keys) {
    for (const Item& item : items) {
      for (const Segment& segment : item.segments) add_rows(segment, item.kv_head);
    }
    std::size_t longest = 1, shares = 1;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      add_parts(g);
      shares = std::max(shares, static_cast<std::size_t>(shares_of(groups_[g].last)));
    }
    for (const DecodePart& part : parts_) longest = std::max(longest, part.floats);
    allocate(longest, static_cast<std::int64_t>(shares));
  }

  void run() override {
    for (const Wave& wave : waves_) run_wave(wave);
    if (columns_ != nullptr) columns_->flush();
  }

 private:
  void add_rows(const Segment& segment, std::int64_t kv_head) {
    const std::int64_t heads = call_.request.query.shape[1] / call_.request.key.shape[1];
    const auto tile = static_cast<std::int64_t>(tile_keys_);
    DecodeGroup group{.segment = &segment, .kv_head = kv_head, .rows = {rows_.size(), rows_.size()}};
    std::int64_t begin = -1, end = 0;
    for (std::int64_t h = kv_head * heads; h < (kv_head + 1) * heads; ++h) {
      for (std::int64_t q = segment.query_begin; q < segment.query_end; ++q) {
        const KeyRange keys = segment.visible(q);
        const BlockRow row{.head = h, .query = q, .begin = keys.begin - segment.key_begin,
                           .end = keys.end - segment.key_begin};
        rows_.push_back(row);
        if (row.begin >= row.end) continue;
        begin = begin < 0 ? row.begin : std::min(begin, row.begin);
        end = std::max(end, row.end);
      }
    }
    group.rows.end = rows_.size();
    if (group.rows.size() == 0) return;
    group.first = begin < 0 ? 0 : begin / tile * tile;
    group.last = begin < 0 ? 0 : end;
    groups_.push_back(group);
  }

  // A rule that is known before its scores needs no more of a row than folds.
  bool by_shares(const DecodeGroup& group) const {
    return job_.streaming && group.first / kShareKeys != (group.last - 1) / kShareKeys;
  }

  void add_parts(std::size_t g) {
    DecodeGroup& group = groups_[g];
    group.parts.begin = parts_.size();
    group.chunks.begin = chunks_.size();
    group.part_rows.begin = part_rows_.size();
    if (by_shares(group)) {
      for (std::int64_t at = group.first; at < group.last; at = share_end(at)) {
        add_part(g, at, std::min(share_end(at), group.last));
      }
    } else {
      add_part(g, group.first, group.last);
    }
    group.parts.end = parts_.size();
    group.chunks.end = chunks_.size();
    group.part_rows.end = part_rows_.size();
  }
  static std::int64_t share_end(std::int64_t key) { return (key / kShareKeys + 1) * kShareKeys; }

  // A chunk stays within its share.
  void add_part(std::size_t g, std::int64_t begin, std::int64_t end) {
    const DecodeGroup& group = groups_[g];
    DecodePart part{.request = &call_.request,
                    .segment = group.segment,
                    .kv_head = group.kv_head,
                    .first = begin,
                    .key_count = static_cast<std::size_t>(end - begin),
                    .feature_map = job_.feature_map};
    part.floats = round_up(part.key_count, tile_keys_);
    for (std::int64_t at = begin, next; at < end; at = next) {
      next = std::min({at + static_cast<std::int64_t>(kDecodeChunk), share_end(at), end});
      chunks_.push_back({.part = parts_.size(),
                         .begin = static_cast<std::size_t>(at - begin),
                         .end = static_cast<std::size_t>(next - begin)});
    }
    for (std::size_t r = 0; r < group.rows.size(); ++r) {
      part_rows_.push_back({.group = g, .part = parts_.size(), .row = r});
    }
    parts_.push_back(part);
  }

  std::size_t features() const { return decode_padded(static_cast<std::size_t>(call_.request.query.shape[3])); }
  std::size_t value_features() const {
    return decode_padded(static_cast<std::size_t>(call_.request.value.shape[3]));
  }

  std::size_t floats_of(const DecodeGroup& group) const {
    const std::size_t rows = group.rows.size();
    std::size_t floats = rows * features() + group.chunks.size() * rows * value_features();
    for (std::size_t p = group.parts.begin; p < group.parts.end; ++p) floats += rows * parts_[p].floats;
    return round_up(floats, kAlignment);
  }

  // Cuts the groups into waves and gives every part its place in the memory of its wave.
  void allocate(std::size_t longest, std::int64_t shares) {
    std::size_t most = 0;
    for (std::size_t begin = 0, end; begin < groups_.size(); begin = end) {
      std::size_t floats = floats_of(groups_[begin]);
      for (end = begin + 1; end < groups_.size() && floats + floats_of(groups_[end]) <= kWaveFloats; ++end) {
        floats += floats_of(groups_[end]);
      }
      waves_.push_back({.groups = {begin, end},
                        .chunks = {groups_[begin].chunks.begin, groups_[end - 1].chunks.end},
                        .part_rows = {groups_[begin].part_rows.begin, groups_[end - 1].part_rows.end}});
      most = std::max(most, floats);
    }
    memory_ = allocate_floats(most);
    for (const Wave& wave : waves_) place(wave);
    for (int t = 0; t < call_.threads; ++t) {
      lines_.push_back(allocate_floats(decode_line_floats(call_.request)));
      workspaces_.push_back(std::make_unique<RowWorkspace>(longest));
      outcomes_.emplace_back(job_.wishes);
      slots_.emplace_back(ShareTree<Fold>::slots_for(shares));
    }
    if (ColumnStatistics::wanted(call_.statistics)) {
      columns_ = std::make_unique<ColumnStatistics>(*call_.statistics, call_.request.query.shape[2],
                                                    call_.request.key.shape[2]);
    }
  }

  void place(const Wave& wave) {
    float* at = memory_.get();
    for (std::size_t g = wave.groups.begin; g < wave.groups.end; ++g) {
      const DecodeGroup& group = groups_[g];
      const std::span<const BlockRow> rows = std::span(rows_).subspan(group.rows.begin, group.rows.size());
      float* next = at;
      for (std::size_t p = group.parts.begin; p < group.parts.end; ++p) {  // first: rows of scores want to be aligned
        parts_[p].rows = rows;
        parts_[p].scores = next;
        next += rows.size() * parts_[p].floats;
      }
      for (std::size_t p = group.parts.begin; p < group.parts.end; ++p) parts_[p].queries = next;
      next += rows.size() * features();
      for (std::size_t c = group.chunks.begin; c < group.chunks.end; ++c) {
        chunks_[c].sums = next;
        next += rows.size() * value_features();
      }
      at += floats_of(group);
    }
  }

  template <class Body>
  void for_each(const Indices& of, const Body& body) const {
    parallel_for(call_.threads, static_cast<std::int64_t>(of.size()), [&](std::int64_t task, int thread) {
      body(of.begin + static_cast<std::size_t>(task), static_cast<std::size_t>(thread));
    });
  }

  void run_wave(const Wave& wave) {
    for (std::size_t g = wave.groups.begin; g < wave.groups.end; ++g) {
      decode_queries(parts_[groups_[g].parts.begin], job_.scale);
    }
    for_each(wave.chunks, [&](std::size_t c, std::size_t thread) {
      decode_scores(parts_[chunks_[c].part], chunks_[c], lines_[thread].get());
    });
    for_each(wave.part_rows, [&](std::size_t i, std::size_t thread) { resolve(part_rows_[i], thread); });
    for_each(wave.chunks, [&](std::size_t c, std::size_t thread) {
      decode_values(parts_[chunks_[c].part], chunks_[c], lines_[thread].get());
    });
    for_each(wave.groups, [&](std::size_t g, std::size_t thread) {
      for (std::size_t r = 0; r < groups_[g].rows.size(); ++r) finish(groups_[g], r, thread);
    });
    for (std::size_t i = wave.part_rows.begin; columns_ != nullptr && i < wave.part_rows.end; ++i) {
      add_columns(part_rows_[i]);  // in one order, by one thread: few rows, so it costs little
    }
  }

  // Unmasked keys of a row; -1: to be counted among its scores.
  std::int64_t keys_of(const DecodeGroup& group, const BlockRow& row) const {
    const bool overlay = call_.request.mask.present() || call_.request.bias.present();
    if (!overlay) return std::max<std::int64_t>(0, row.end - row.begin);
    return group.whole() ? -1 : count_keys(call_.request, *group.segment, row);
  }

  void resolve(PartRow& of, std::size_t thread) {
    const DecodePart& part = parts_[of.part];
    const BlockRow& row = part.rows[of.row];
    RowOutcome& outcome = outcomes_[thread].outcome;
    empty_outcome(job_.wishes, outcome);
    if (part.key_count > 0) {
      resolve_row({.normalizer = &call_.normalizer,
                   .head = static_cast<std::size_t>(row.head),
                   .first_key = part.segment->key_begin + part.first,
                   .keys = keys_of(groups_[of.group], row)},
                  job_.wishes, scores_of(part, of.row), *workspaces_[thread], outcome);
    }
    of.scale = outcome.scale;
    of.survey = outcome.survey;
    of.peak_key = outcome.peak_key;
    if (groups_[of.group].whole()) write_statistics(*part.segment, row, outcome);
  }

  ScoreRow scores_of(const DecodePart& part, std::size_t row) const {
    return {.data = part.scores + row * part.floats,
            .chunks = part.floats / tile_keys_,
            .stride = tile_keys_,
            .lanes = tile_keys_};
  }

  void write_statistics(const Segment& segment, const BlockRow& row, const RowOutcome& outcome) const {
    if (call_.statistics != nullptr) write_row(*call_.statistics, segment.batch, row.head, row.query, outcome);
  }

  // The fold of row r of a group: chunks of a share are added in their order, shares merge along the tree.
  Fold fold_of(const DecodeGroup& group, std::size_t r, std::span<Fold> slots) const {
    const std::size_t features = value_features();
    const auto join = [](Fold& into, const Fold& from) { merge(into, from); };
    ShareTree<Fold> tree(slots);
    for (std::size_t c = group.chunks.begin; c < group.chunks.end;) {
      const DecodeChunk& first = chunks_[c];
      float* const sum = first.sums + r * features;
      for (++c; c < group.chunks.end && share_of(chunks_[c]) == share_of(first); ++c) {
        const float* const more = chunks_[c].sums + r * features;
        for (std::size_t i = 0; i < features; ++i) sum[i] += more[i];
      }
      // Weights of a whole row have its maximum in them: its shares merge as plain sums.
      const Survey survey = group.whole() ? Survey{.max = 0.0} : part_row(group, first.part, r).survey;
      tree.next(share_of(first), join) = {survey, {sum, features}};
    }
    return tree.finish(join);
  }

  void finish(const DecodeGroup& group, std::size_t r, std::size_t thread) {
    const BlockRow& row = rows_[group.rows.begin + r];
    if (group.chunks.size() == 0) return write_out(call_.out, group.segment->batch, row, 0.0f, nullptr);
    const Fold fold = fold_of(group, r, slots_[thread]);
    float scale = part_row(group, group.parts.begin, r).scale;
    if (!group.whole()) {
      RowOutcome& outcome = outcomes_[thread].outcome;
      empty_outcome(job_.wishes, outcome);
      const Rule rule = rule_for(call_.normalizer, row.head, keys_of(group, row));
      finish_fold(fold.survey, rule.beta, rule.sink, Tail::exact, outcome);
      outcome.peak_key = peak_key(group, r);
      write_statistics(*group.segment, row, outcome);
      scale = outcome.scale;
    }
    write_out(call_.out, group.segment->batch, row, scale, fold.sum.data());
  }

  const PartRow& part_row(const DecodeGroup& group, std::size_t part, std::size_t r) const {
    return part_rows_[group.part_rows.begin + (part - group.parts.begin) * group.rows.size() + r];
  }
  std::int64_t peak_key(const DecodeGroup& group, std::size_t r) const {
    const PartRow* best = &part_row(group, group.parts.begin, r);
    for (std::size_t p = group.parts.begin; p < group.parts.end; ++p) {
      if (part_row(group, p, r).survey.max > best->survey.max) best = &part_row(group, p, r);
    }
    return best->peak_key;
  }
  std::int64_t share_of(const DecodeChunk& chunk) const {
    return (parts_[chunk.part].first + static_cast<std::int64_t>(chunk.begin)) / kShareKeys;
  }

  void add_columns(const PartRow& of) {
    const DecodePart& part = parts_[of.part];
    const BlockRow& row = part.rows[of.row];
    columns_->add(part.segment->batch, row.head, row.query, part.segment->key_begin + part.first,
                  scores_of(part, of.row), of.scale);
  }

  static constexpr std::size_t kAlignment = 32;  // floats: 128 bytes

  const ForwardJob& job_;
  const ForwardCall& call_;
  std::size_t tile_keys_;
  std::vector<BlockRow> rows_;
  std::vector<DecodeGroup> groups_;
  std::vector<DecodePart> parts_;
  std::vector<DecodeChunk> chunks_;
  std::vector<PartRow> part_rows_;  // [part][row]
  std::vector<Wave> waves_;
  FloatBuffer memory_;
  std::vector<FloatBuffer> lines_;
  std::vector<std::unique_ptr<RowWorkspace>> workspaces_;
  std::vector<OutcomeBuffers> outcomes_;
  std::vector<std::vector<Fold>> slots_;  // of the share tree, per thread
  std::unique_ptr<ColumnStatistics> columns_;
};

}  // namespace

std::unique_ptr<Plan> plan_decode(const ForwardJob& job, std::span<const Item> items) {
  return std::make_unique<DecodePlan>(job, items);
}

}  // namespace sharpmax
