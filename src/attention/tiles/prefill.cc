// One block of queries against all of its keys: see block.h.
#include "attention/tiles/block.h"

#include <algorithm>
#include <utility>

#include "attention/rows/row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/tiles/prefill.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/tiles/groups-inl.h"
#include "attention/tiles/scores-inl.h"
#include "attention/tiles/streaming-inl.h"
#include "attention/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

TileShape GetTileShape() { return {kTileRows, kTileKeys, kLanes}; }

void PackHead(const AttentionRequest& request, const PackedHead& head, bool feature_map, std::size_t begin,
              std::size_t end, float* line) {
  const Segment& segment = *head.segment;
  const std::size_t padded = round_up(head.key_count, kTileKeys);
  PackPanels(request.key, segment.batch, head.kv_head, segment.key_begin, head.key_count, begin, end - begin,
             feature_map, line, head.keys);
  PackColumns(request.value, segment.batch, head.kv_head, segment.key_begin, head.key_count, padded,
              begin * kTileKeys, end * kTileKeys, false, line, head.values);
  if (head.keys_by_row != nullptr) {
    PackColumns(request.key, segment.batch, head.kv_head, segment.key_begin, head.key_count, padded,
                begin * kTileKeys, end * kTileKeys, feature_map, line, head.keys_by_row);
  }
  if (head.values_by_panel != nullptr) {
    PackPanels(request.value, segment.batch, head.kv_head, segment.key_begin, head.key_count, begin,
               end - begin, false, line, head.values_by_panel);
  }
}

struct BlockContext {
  ScoreContext scores;
  std::size_t value_features;
  std::size_t padded;      // keys rounded up to whole panels
  std::size_t out_stride;  // of folded rows
};

HWY_INLINE BlockContext MakeContext(const ForwardJob& job, const PackedHead& head) {
  const AttentionRequest& request = job.call->request;
  BlockContext context;
  context.scores = MakeScoreContext(request, *head.segment);
  context.value_features = static_cast<std::size_t>(request.value.shape[3]);
  context.padded = round_up(head.key_count, kTileKeys);
  context.out_stride = round_up(context.value_features, kTileKeys);
  return context;
}

// Packs every group's queries; then as SeeBlock.
HWY_INLINE PanelRange OpenBlock(const ForwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                                std::size_t feature, const BlockScratch& scratch, PanelRange* visible) {
  for (std::size_t g = 0; g * kTileRows < rows.size(); ++g) {
    PackQueries(job.call->request.query, head.segment->batch, GroupOf(rows, g), job.scale, job.feature_map,
                scratch.line, scratch.queries + g * kTileRows * feature);
  }
  return SeeBlock(rows, visible);
}

constexpr std::size_t kSharePanels = static_cast<std::size_t>(kShareKeys) / kTileKeys;
static_assert(kShareKeys % kBlockKeys == 0 && kSharePanels % kBlockPanels == 0);

// The folds of a block, share by share. A block that sees one share has nothing to merge, and no slots.
class BlockShares {
 public:
  BlockShares(const BlockScratch& scratch, std::size_t rows, std::size_t stride)
      : scratch_(scratch), tree_(scratch.folds), join_{rows, stride} {}

  bool empty() const { return empty_; }

  // Hands on what scratch.folded holds as the sums of the share that ends before `panel`, and starts anew.
  template <class SurveyOfRow, class PeakOfRow>
  HWY_INLINE void Close(std::size_t panel, const SurveyOfRow& survey_of, const PeakOfRow& peak_of) {
    BlockFolds& slot = tree_.next(static_cast<std::int64_t>((panel - 1) / kSharePanels), join_);
    for (std::size_t i = 0; i < join_.rows; ++i) {
      slot.surveys[i] = survey_of(i);
      slot.peak_keys[i] = peak_of(i);
    }
    std::copy_n(scratch_.folded, join_.rows * join_.stride, slot.sums);
    std::fill_n(scratch_.folded, join_.rows * join_.stride, 0.0f);
    empty_ = false;
  }
  const BlockFolds& Finish() { return tree_.finish(join_); }

 private:
  struct Join {
    std::size_t rows, stride;
    void operator()(BlockFolds& into, const BlockFolds& from) const { merge(into, from, rows, stride); }
  };
  const BlockScratch& scratch_;
  ShareTree<BlockFolds> tree_;
  Join join_;
  bool empty_ = true;
};

template <bool kStatistics>
HWY_NOINLINE void StreamBlock(const ForwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                              const BlockScratch& scratch) {
  const FloatTag d;
  const BlockContext context = MakeContext(job, head);
  const std::size_t feature = context.scores.feature;
  const std::size_t groups = (rows.size() + kTileRows - 1) / kTileRows;
  double sinks[kBlockRows];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t keys = CountKeys(context.scores, rows[i]);
    const Rule rule = rule_for(job.call->normalizer, rows[i].head, keys);
    rows[i].beta = rule.beta;
    sinks[i] = rule.sink;
  }
  GroupState states[kMaxGroups];
  for (std::size_t g = 0; g < groups; ++g) states[g].Reset<kStatistics>();
  PanelRange visible[kMaxGroups];
  const PanelRange all = OpenBlock(job, head, rows, feature, scratch, visible);
  std::fill_n(scratch.folded, groups * kTileRows * context.out_stride, 0.0f);
  BlockShares shares(scratch, rows.size(), context.out_stride);
  const auto survey_of = [&](std::size_t i) HWY_ATTR {
    return SurveyOf<kStatistics>(states[i / kTileRows], i % kTileRows);
  };
  const auto peak_of = [&](std::size_t i) {
    return kStatistics ? states[i / kTileRows].peak_key[i % kTileRows] : std::int64_t{-1};
  };

  const std::size_t first = all.first / kBlockPanels * kBlockPanels;
  for (std::size_t block = first; block < all.second; block += kBlockPanels) {
    if (block > first && block % kSharePanels == 0) {
      shares.Close(block, survey_of, peak_of);
      for (std::size_t g = 0; g < groups; ++g) states[g].Reset<kStatistics>();
    }
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t begin = std::max(block, visible[g].first);
      const std::size_t end = std::min(block + kBlockPanels, visible[g].second);
      if (begin >= end) continue;
      const auto group = GroupOf(rows, g);
      HWY_ALIGN float row_max[kTileRows * kLanes];
      std::fill_n(row_max, kTileRows * kLanes, -std::numeric_limits<float>::infinity());
      ScoreGroup(context.scores, group, scratch.queries + g * kTileRows * feature, head.keys, begin, end,
                 scratch.tiles, row_max);
      float rescale[kTileRows] = {};
      const std::int64_t first_key = head.segment->key_begin + static_cast<std::int64_t>(begin * kTileKeys);
      for (std::size_t r = 0; r < group.size(); ++r) {
        const float top = hn::GetLane(hn::MaxOfLanes(d, hn::Load(d, row_max + r * kLanes)));
        rescale[r] = WeighStreaming<kStatistics>(scratch.tiles + r * kTileKeys, end - begin, top, first_key, r,
                                                 states[g]);
      }
      FoldGroup(scratch.tiles, end - begin, begin, context.padded, head.values, context.value_features, rescale,
                scratch.folded + g * kTileRows * context.out_stride, context.out_stride);
    }
  }

  const bool merged = !shares.empty();
  if (merged) shares.Close(all.second, survey_of, peak_of);
  const BlockFolds* const folds = merged ? &shares.Finish() : nullptr;
  RowOutcome outcome = scratch.outcome;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* const sum = (merged ? folds->sums : scratch.folded) + i * context.out_stride;
    const Survey survey = merged ? folds->surveys[i] : survey_of(i);
    if (job.call->statistics == nullptr) {
      WriteOut(job.call->out, head.segment->batch, rows[i], static_cast<float>(Fold{survey}.scale(sinks[i])), sum);
      continue;
    }
    empty_outcome(job.wishes, outcome);
    finish_fold(survey, rows[i].beta, sinks[i], kStatistics ? Tail::exact : Tail::of_sum, outcome);
    if (kStatistics && !survey.empty()) outcome.peak_key = merged ? folds->peak_keys[i] : peak_of(i);
    WriteOut(job.call->out, head.segment->batch, rows[i], outcome.scale, sum);
    write_row(*job.call->statistics, head.segment->batch, rows[i].head, rows[i].query, outcome);
  }
}

HWY_INLINE bool TileIsZero(const float* tile) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> du;
  auto any = hn::Zero(du);
  for (std::size_t i = 0; i < kTileSize; i += kLanes) any = hn::Or(any, hn::BitCast(du, hn::Load(d, tile + i)));
  return hn::AllTrue(du, hn::Eq(any, hn::Zero(du)));
}

// As FoldGroup into rows that hold 0 or earlier sums, skipping tiles without any weight.
HWY_INLINE void FoldNonzero(const float* weights, std::size_t begin, std::size_t end, std::size_t padded,
                            const float* values, std::size_t features, float* out, std::size_t out_stride) {
  float ones[kTileRows];
  std::fill_n(ones, kTileRows, 1.0f);
  for (std::size_t p = begin; p < end;) {
    if (TileIsZero(weights + (p - begin) * kTileSize)) {
      ++p;
      continue;
    }
    std::size_t stop = p + 1;
    while (stop < end && !TileIsZero(weights + (stop - begin) * kTileSize)) ++stop;
    FoldGroup(weights + (p - begin) * kTileSize, stop - p, p, padded, values, features, ones, out, out_stride);
    p = stop;
  }
}

// What becomes of the rows of a block as they are resolved.
class ResolvedRows final : public RowSink {
 public:
  ResolvedRows(const ForwardJob& job, const PackedHead& head, std::span<const BlockRow> rows,
               ColumnStatistics* columns)
      : job_(job), head_(head), rows_(rows), columns_(columns) {}

  // Row `block_row`, one that sees keys, is to be resolved next.
  void Add(std::size_t block_row, const RowTask& task, const ScoreRow& row) {
    tasks_[count_] = task;
    scores_[count_] = row;
    places_[count_++] = block_row;
  }
  void Resolve(const BlockScratch& scratch, RowOutcome& outcome) {
    resolve_rows({tasks_, count_}, job_.wishes, {scores_, count_}, *scratch.rows, outcome, *this);
  }
  void take(std::size_t row, const RowOutcome& outcome) override {
    const BlockRow& at = rows_[places_[row]];
    if (columns_ != nullptr) {
      columns_->add(head_.segment->batch, at.head, at.query, tasks_[row].first_key, scores_[row], outcome.scale);
    }
    Leave(places_[row], outcome);
  }
  void Leave(std::size_t block_row, const RowOutcome& outcome) {
    scales[block_row] = outcome.scale;
    if (job_.call->statistics == nullptr) return;
    const BlockRow& at = rows_[block_row];
    write_row(*job_.call->statistics, head_.segment->batch, at.head, at.query, outcome);
  }

  float scales[kBlockRows];

 private:
  const ForwardJob& job_;
  const PackedHead& head_;
  std::span<const BlockRow> rows_;
  ColumnStatistics* columns_;
  std::size_t count_ = 0;
  RowTask tasks_[kBlockRows];
  ScoreRow scores_[kBlockRows];
  std::size_t places_[kBlockRows];
};

// The whole-row plan: every score of the block's rows is kept until its row has been resolved.
HWY_NOINLINE void WholeBlock(const ForwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                             const BlockScratch& scratch, ColumnStatistics* columns) {
  const BlockContext context = MakeContext(job, head);
  const std::size_t feature = context.scores.feature;
  const std::size_t groups = (rows.size() + kTileRows - 1) / kTileRows;
  PanelRange visible[kMaxGroups];
  const PanelRange all = OpenBlock(job, head, rows, feature, scratch, visible);
  const std::size_t group_floats = (all.second - all.first) * kTileSize;
  std::fill_n(scratch.folded, groups * kTileRows * context.out_stride, 0.0f);
  const auto tiles_at = [&](std::size_t g, std::size_t panel) {
    return scratch.tiles + g * group_floats + (panel - all.first) * kTileSize;
  };

  for (std::size_t block = all.first; block < all.second; block += kBlockPanels) {
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t begin = std::max(block, visible[g].first);
      const std::size_t end = std::min(block + kBlockPanels, visible[g].second);
      if (begin >= end) continue;
      ScoreGroup(context.scores, GroupOf(rows, g), scratch.queries + g * kTileRows * feature, head.keys, begin,
                 end, tiles_at(g, begin), nullptr);
    }
  }

  RowOutcome outcome = scratch.outcome;
  ResolvedRows resolved(job, head, rows, columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PanelRange range = visible[i / kTileRows];
    if (range.first >= range.second) {
      empty_outcome(job.wishes, outcome);
      resolved.Leave(i, outcome);
      continue;
    }
    resolved.Add(i,
                 {.normalizer = &job.call->normalizer,
                  .head = static_cast<std::size_t>(rows[i].head),
                  .first_key = head.segment->key_begin + static_cast<std::int64_t>(range.first * kTileKeys),
                  .keys = context.scores.has_overlay ? -1 : std::max<std::int64_t>(0, rows[i].end - rows[i].begin)},
                 {.data = tiles_at(i / kTileRows, range.first) + (i % kTileRows) * kTileKeys,
                  .chunks = range.second - range.first,
                  .stride = kTileSize,
                  .lanes = kTileKeys});
  }
  resolved.Resolve(scratch, outcome);

  // Weights have the row's own maximum in them, so the folds of its shares merge as plain sums.
  BlockShares shares(scratch, rows.size(), context.out_stride);
  const auto survey_of = [](std::size_t) { return Survey{.max = 0.0}; };
  const auto peak_of = [](std::size_t) { return std::int64_t{-1}; };
  for (std::size_t block = all.first, last; block < all.second; block = last) {
    if (block > all.first && block % kSharePanels == 0) shares.Close(block, survey_of, peak_of);
    last = std::min(block + kBlockPanels, (block / kSharePanels + 1) * kSharePanels);
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t begin = std::max(block, visible[g].first);
      const std::size_t end = std::min(last, visible[g].second);
      if (begin >= end) continue;
      FoldNonzero(tiles_at(g, begin), begin, end, context.padded, head.values, context.value_features,
                  scratch.folded + g * kTileRows * context.out_stride, context.out_stride);
    }
  }
  const float* sums = scratch.folded;
  if (!shares.empty()) {
    shares.Close(all.second, survey_of, peak_of);
    sums = shares.Finish().sums;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    WriteOut(job.call->out, head.segment->batch, rows[i], resolved.scales[i], sums + i * context.out_stride);
  }
}

void PrefillBlock(const ForwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                  const BlockScratch& scratch, ColumnStatistics* columns) {
  if (!job.streaming) {
    WholeBlock(job, head, rows, scratch, columns);
  } else if (job.wishes.entropy || job.wishes.peak) {
    StreamBlock<true>(job, head, rows, scratch);
  } else {
    StreamBlock<false>(job, head, rows, scratch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax {

HWY_EXPORT(GetTileShape);
HWY_EXPORT(PackHead);
HWY_EXPORT(PrefillBlock);

TileShape tile_shape() { return HWY_DYNAMIC_DISPATCH(GetTileShape)(); }

std::size_t line_floats(const AttentionRequest& request) {
  const auto widest = static_cast<std::size_t>(std::max(request.query.shape[3], request.value.shape[3]));
  const TileShape tile = tile_shape();
  return (std::max(tile.rows, tile.keys) + 1) * round_up(widest, tile.keys);
}

void pack_head(const AttentionRequest& request, const PackedHead& head, bool feature_map, std::size_t begin,
               std::size_t end, float* line) {
  HWY_DYNAMIC_DISPATCH(PackHead)(request, head, feature_map, begin, end, line);
}

void prefill_block(const ForwardJob& job, const PackedHead& head, std::span<BlockRow> rows,
                   const BlockScratch& scratch, ColumnStatistics* columns) {
  HWY_DYNAMIC_DISPATCH(PrefillBlock)(job, head, rows, scratch, columns);
}

}  // namespace sharpmax
#endif  // HWY_ONCE
