// Rows whose keys lie on several ranks: shares scored where they are, rounds over them, the same output everywhere.
#include "sharpmax/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "attention/door/validate.h"
#include "attention/oracle/oracle.h"
#include "attention/parts/split_row.h"
#include "base/numbers.h"
#include "base/threads.h"

namespace sharpmax {
namespace {

// Rows whose rounds are shared: what a share leaves of each is held at once.
constexpr std::size_t kBlockRows = 256;

struct QueryRow {
  RowIndex at;
  KeyRange keys;  // of all
};

// One thread's scores of a share.
class ShareScorer {
 public:
  ShareScorer(const AttentionRequest& own, const KeyRun& run, const AnyNormalizer& normalizer)
      : own_(own),
        run_(run),
        linear_(normalizer.definition().needs_queries_and_keys),
        scale_(linear_ ? 1.0 : scale_of(own)),
        heads_(own.query.shape[1] / own.key.shape[1]) {
    if (own.bias.present()) bias_.resize(to_size(run.size()));
  }

  // Keys [first, last), of all; scores of keys that a row does not see are masked.
  void begin(std::int64_t first, std::int64_t last) {
    first_ = first;
    scores_.resize(to_size(last - first));
    weights_.resize(padded_keys(scores_.size()));
    batch_ = head_ = -1;
  }

  std::span<const double> scores(const QueryRow& row) {
    load(row.at);
    const auto last = first_ + static_cast<std::int64_t>(scores_.size());
    const KeyRange seen{std::max(row.keys.begin, first_), std::min(row.keys.end, last)};
    std::fill(scores_.begin(), scores_.end(), oracle::kMasked);
    if (seen.begin >= seen.end) return scores_;
    query_.resize(features());
    read_row(own_.query, row.at, query_);
    map(query_);
    for (std::int64_t key = seen.begin; key < seen.end; ++key) {
      const double* const k = keys_.data() + to_size(key - first_) * features();
      double sum = 0.0;
      for (std::size_t f = 0; f < features(); ++f) sum += query_[f] * k[f];
      const double score = scale_ * sum;
      scores_[to_size(key - first_)] = own_.soft_cap > 0.0 ? oracle::soft_capped(score, own_.soft_cap) : score;
    }
    oracle::add_bias_and_mask(own_, row.at, seen.begin - run_.begin,
                              std::span(scores_).subspan(to_size(seen.begin - first_), to_size(seen.end - seen.begin)), bias_);
    return scores_;
  }

  std::span<float> weights() { return weights_; }

  // Of the row whose scores were asked for last.
  void add_values(std::vector<double>& sum) const {
    const std::size_t count = value_features();
    sum.assign(count, 0.0);
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const double weight = weights_[i];
      if (weight == 0.0) continue;
      for (std::size_t c = 0; c < count; ++c) sum[c] += weight * values_[i * count + c];
    }
  }

 private:
  std::size_t features() const { return to_size(own_.key.shape[3]); }
  std::size_t value_features() const { return to_size(own_.value.shape[3]); }
  void map(std::span<double> row) const {
    if (linear_) std::transform(row.begin(), row.end(), row.begin(), oracle::feature_map);
  }

  // Keys and values of the share, in double, of the kv head that a query head reads.
  void load(const RowIndex& at) {
    if (at.batch == batch_ && at.head / heads_ == head_) return;
    batch_ = at.batch;
    head_ = at.head / heads_;
    keys_.resize(scores_.size() * features());
    values_.resize(scores_.size() * value_features());
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const RowIndex place{batch_, head_, first_ - run_.begin + static_cast<std::int64_t>(i)};
      const std::span<double> key(keys_.data() + i * features(), features());
      read_row(own_.key, place, key);
      map(key);
      read_row(own_.value, place, {values_.data() + i * value_features(), value_features()});
    }
  }

  const AttentionRequest& own_;
  KeyRun run_;
  bool linear_;
  double scale_;
  std::int64_t heads_, first_ = 0, batch_ = -1, head_ = -1;
  std::vector<double> query_, keys_, values_, scores_, bias_;
  std::vector<float> weights_;
};

// The request as if this rank had all keys: what causality, windows and lengths are about.
std::vector<Segment> segments_of_all(const AttentionRequest& own, std::int64_t keys) {
  AttentionRequest all = own;
  all.mask = {};
  all.bias = {};
  all.key.shape[2] = all.value.shape[2] = keys;
  return segments_of(all);
}

std::vector<QueryRow> rows_of(const AttentionRequest& own, std::int64_t keys) {
  const std::vector<Segment> segments = segments_of_all(own, keys);
  std::vector<QueryRow> rows;
  for (std::int64_t batch = 0; batch < own.query.shape[0]; ++batch)
    for (std::int64_t head = 0; head < own.query.shape[1]; ++head) {
      oracle::SegmentCursor cursor(segments, batch);
      for (std::int64_t query = 0; query < own.query.shape[2]; ++query)
        rows.push_back({{batch, head, query}, cursor.visible(query)});
    }
  return rows;
}

class SplitCall {
 public:
  SplitCall(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group, int threads)
      : own_(own), keys_(keys), normalizer_(normalizer), group_(group), run_(keys_of_rank(keys, group.rank(), group.size())) {
    for (int t = 0; t < threads; ++t) scorers_.push_back(std::make_unique<ShareScorer>(own, run_, normalizer));
  }

  void run(std::span<const QueryRow> rows, const AnyMutableTensor<4>& out) {
    const std::vector<std::int64_t> counts = unmasked_keys(rows);
    std::vector<std::unique_ptr<SplitRow>> split;
    std::vector<InRounds*> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      split.push_back(split_row(normalizer_, to_size(rows[i].at.head), counts[i]));
      all.push_back(split.back().get());
    }
    run_rounds(group_, all, shares_of(keys_), static_cast<int>(scorers_.size()),
               [&](std::int64_t share, int thread, std::span<InRounds* const> live, std::span<SharePart> parts) {
                 ShareScorer& scorer = begin_share(share, thread);
                 for (std::size_t i = 0, row = 0; i < live.size(); ++i, ++row) {
                   while (all[row] != live[i]) ++row;
                   const ShareScores scores{share * kShareKeys, scorer.scores(rows[row])};
                   if (split[row]->visit(scores, scorer.weights(), parts[i].numbers)) scorer.add_values(parts[i].sum);
                 }
               });
    std::vector<double> values(to_size(own_.value.shape[3]));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const SplitOutcome& outcome = split[i]->outcome();
      for (std::size_t c = 0; c < values.size(); ++c)
        values[c] = outcome.scale * (outcome.sum.empty() ? 0.0 : outcome.sum[c]);
      write_row(out, rows[i].at, values);
    }
  }

 private:
  ShareScorer& begin_share(std::int64_t share, int thread) {
    ShareScorer& scorer = *scorers_[to_size(thread)];
    scorer.begin(share * kShareKeys, std::min((share + 1) * kShareKeys, keys_));
    return scorer;
  }

  // Rules use the number of keys that a row sees; with a mask or bias only those who hold the keys can count them.
  std::vector<std::int64_t> unmasked_keys(std::span<const QueryRow> rows) {
    std::vector<std::int64_t> counts;
    for (const QueryRow& row : rows) counts.push_back(std::max<std::int64_t>(0, row.keys.end - row.keys.begin));
    if (!own_.mask.present() && !own_.bias.present()) return counts;
    std::fill(counts.begin(), counts.end(), 0);
    for (std::int64_t share = run_.begin / kShareKeys; share < shares_of(run_.end) && run_.size() > 0; ++share) {
      ShareScorer& scorer = begin_share(share, 0);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::span<const double> scores = scorer.scores(rows[i]);
        counts[i] += std::count_if(scores.begin(), scores.end(), [](double e) { return e != oracle::kMasked; });
      }
    }
    std::vector<std::int64_t> all(counts.size(), 0);
    for (const Group::Bytes& bytes : group_.gather(std::as_bytes(std::span(counts)))) {
      std::memcpy(counts.data(), bytes.data(), bytes.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += counts[i];
    }
    return all;
  }

  const AttentionRequest& own_;
  std::int64_t keys_;
  const AnyNormalizer& normalizer_;
  Group& group_;
  KeyRun run_;
  std::vector<std::unique_ptr<ShareScorer>> scorers_;
};

void check(const AttentionRequest& own, std::int64_t keys, const KeyRun& run, const AnyNormalizer& normalizer,
           const AnyMutableTensor<4>& out) {
  if (keys < 0)
    throw Error(ErrorCode::bad_argument, fmt::format("attend_split: the number of keys is {}; it must be at least 0", keys));
  for (const auto* own_keys : {&own.key, &own.value})
    if (own_keys->shape[2] != run.size())
      throw Error(ErrorCode::bad_argument,
                  fmt::format("attend_split: {} has {} keys; this rank must have {}, keys {} to {} of {}",
                              own_keys == &own.key ? "key" : "value", own_keys->shape[2], run.size(), run.begin, run.end, keys));
  if (run.size() > 0) validate_request(own, normalizer);
  const Extents<4> wanted{own.query.shape[0], own.query.shape[1], own.query.shape[2], own.value.shape[3]};
  if (out.shape != wanted)
    throw Error(ErrorCode::bad_argument,
                fmt::format("attend_split: out has shape [{}, {}, {}, {}]; it must be [{}, {}, {}, {}]", out.shape[0], out.shape[1],
                            out.shape[2], out.shape[3], wanted[0], wanted[1], wanted[2], wanted[3]));
}

// One share: whoever has it attends, and all get the output.
void attend_in_one_place(const AttentionRequest& own, const AnyNormalizer& normalizer, Group& group, int owner,
                         const AnyMutableTensor<4>& out, const Execution& execution) {
  Tensor<float, 4> result(out.shape);
  if (group.rank() == owner) attend(own, normalizer, result, nullptr, execution);
  const std::size_t elements = result.size();
  const std::span<float> floats(result.data(), elements);
  const Group::Bytes bytes = group.broadcast(std::as_bytes(floats), owner);
  if (elements > 0) std::memcpy(floats.data(), bytes.data(), bytes.size());
  std::vector<double> row(to_size(out.shape[3]));
  for (std::int64_t b = 0; b < out.shape[0]; ++b)
    for (std::int64_t h = 0; h < out.shape[1]; ++h)
      for (std::int64_t q = 0; q < out.shape[2]; ++q) {
        read_row(AnyTensor<4>(TensorView<const float, 4>(result.data(), out.shape)), {b, h, q}, row);
        write_row(out, {b, h, q}, row);
      }
}

}  // namespace

KeyRun keys_of_rank(std::int64_t keys, int rank, int size) {
  const ShareRun shares = shares_of_rank(shares_of(keys), rank, size);
  return {std::min(shares.begin * kShareKeys, keys), std::min(shares.end * kShareKeys, keys)};
}

void attend_split(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group,
                  AnyMutableTensor<4> out, const Execution& execution) {
  check(own, keys, keys_of_rank(keys, group.rank(), group.size()), normalizer, out);
  choose_target();
  if (keys <= kShareKeys) return attend_in_one_place(own, normalizer, group, group.size() - 1, out, execution);
  const std::vector<QueryRow> rows = rows_of(own, keys);
  SplitCall call(own, keys, normalizer, group, threads_for(execution.threads));
  for (std::size_t at = 0; at < rows.size(); at += kBlockRows)
    call.run(std::span(rows).subspan(at, std::min(kBlockRows, rows.size() - at)), out);
}

}  // namespace sharpmax
