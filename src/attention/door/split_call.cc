#include "attention/door/split_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "attention/door/validate.h"
#include "base/numbers.h"
#include "sharpmax/error.h"

namespace sharpmax {

ShareScorer::ShareScorer(const AttentionRequest& own, const KeyRun& run, const AnyNormalizer& normalizer)
    : own_(own),
      run_(run),
      linear_(normalizer.definition().needs_queries_and_keys),
      scale_(linear_ ? 1.0 : scale_of(own)),
      heads_(own.query.shape[1] / own.key.shape[1]) {
  if (own.bias.present()) bias_.resize(to_size(run.size()));
}

void ShareScorer::begin(std::int64_t first, std::int64_t last) {
  first_ = first;
  const std::size_t keys = to_size(last - first);
  for (std::vector<double>* row : {&scores_, &cap_slopes_, &exact_, &d_weights_, &d_scores_}) row->resize(keys);
  weights_.resize(padded_keys(keys));
  batch_ = head_ = -1;
}

ShareScores ShareScorer::scores(const QueryRow& row) {
  load(row.at);
  const auto last = first_ + static_cast<std::int64_t>(scores_.size());
  const KeyRange seen{std::max(row.keys.begin, first_), std::min(row.keys.end, last)};
  std::fill(scores_.begin(), scores_.end(), oracle::kMasked);
  if (seen.begin >= seen.end) return {first_, scores_};
  query_.resize(features());
  read_row(own_.query, row.at, query_);
  if (linear_) std::transform(query_.begin(), query_.end(), query_.begin(), oracle::feature_map);
  for (std::int64_t key = seen.begin; key < seen.end; ++key) {
    const std::size_t i = to_size(key - first_);
    const double* const k = keys_.data() + i * features();
    double sum = 0.0;
    for (std::size_t f = 0; f < features(); ++f) sum += query_[f] * k[f];
    scores_[i] = scale_ * sum;
    if (own_.soft_cap > 0.0) {
      cap_slopes_[i] = oracle::soft_cap_slope(scores_[i], own_.soft_cap);
      scores_[i] = oracle::soft_capped(scores_[i], own_.soft_cap);
    }
  }
  oracle::add_bias_and_mask(own_, row.at, seen.begin - run_.begin,
                            std::span(scores_).subspan(to_size(seen.begin - first_), to_size(seen.end - seen.begin)), bias_);
  return {first_, scores_};
}

void ShareScorer::add_values(std::vector<double>& sum) const {
  const std::size_t count = value_features();
  sum.assign(count, 0.0);
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    const double weight = weights_[i];
    if (weight == 0.0) continue;
    for (std::size_t c = 0; c < count; ++c) sum[c] += weight * values_[i * count + c];
  }
}

std::span<const double> ShareScorer::d_weights(std::span<const double> d_out) {
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    d_weights_[i] = 0.0;
    if (scores_[i] == oracle::kMasked) continue;
    const double* const value = values_.data() + i * value_features();
    for (std::size_t c = 0; c < d_out.size(); ++c) d_weights_[i] += d_out[c] * value[c];
  }
  return d_weights_;
}

void ShareScorer::through_scores(std::vector<double>& d_query, double* d_key) const {
  const std::size_t count = features();
  d_query.assign(count, 0.0);
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (scores_[i] == oracle::kMasked || d_scores_[i] == 0.0) continue;
    const double d = scale_ * (own_.soft_cap > 0.0 ? cap_slopes_[i] : 1.0) * d_scores_[i];
    const double* const key = keys_.data() + i * count;
    for (std::size_t c = 0; c < count; ++c) {
      d_query[c] += d * key[c];
      if (d_key != nullptr) d_key[i * count + c] += d * query_[c] * (linear_ ? key_slopes_[i * count + c] : 1.0);
    }
  }
}

void ShareScorer::add_value_gradient(std::span<const double> d_out, double* d_value) const {
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (scores_[i] == oracle::kMasked || exact_[i] == 0.0) continue;
    for (std::size_t c = 0; c < d_out.size(); ++c) d_value[i * d_out.size() + c] += exact_[i] * d_out[c];
  }
}

// Keys and values of the share, in double, of the kv head that a query head reads.
void ShareScorer::load(const RowIndex& at) {
  if (at.batch == batch_ && at.head / heads_ == head_) return;
  batch_ = at.batch;
  head_ = at.head / heads_;
  keys_.resize(scores_.size() * features());
  values_.resize(scores_.size() * value_features());
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    const RowIndex place{batch_, head_, first_ - run_.begin + static_cast<std::int64_t>(i)};
    read_row(own_.key, place, {keys_.data() + i * features(), features()});
    read_row(own_.value, place, {values_.data() + i * value_features(), value_features()});
  }
  if (!linear_) return;
  key_slopes_.resize(keys_.size());
  std::transform(keys_.begin(), keys_.end(), key_slopes_.begin(), oracle::feature_map_slope);
  std::transform(keys_.begin(), keys_.end(), keys_.begin(), oracle::feature_map);
}

namespace {

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

}  // namespace

SplitCall::SplitCall(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group, int threads)
    : own_(own),
      keys_(keys),
      normalizer_(normalizer),
      group_(group),
      run_(keys_of_rank(keys, group.rank(), group.size())),
      rows_(rows_of(own, keys)) {
  for (int t = 0; t < threads; ++t) scorers_.push_back(std::make_unique<ShareScorer>(own, run_, normalizer));
}

ShareScorer& SplitCall::begin_share(std::int64_t share, int thread) {
  ShareScorer& scorer = *scorers_[to_size(thread)];
  scorer.begin(share * kShareKeys, std::min((share + 1) * kShareKeys, keys_));
  return scorer;
}

// Rules use the number of keys that a row sees; with a mask or bias only those who hold the keys can count them.
std::vector<std::int64_t> SplitCall::unmasked_keys(std::span<const QueryRow> rows) {
  std::vector<std::int64_t> counts;
  for (const QueryRow& row : rows) counts.push_back(std::max<std::int64_t>(0, row.keys.end - row.keys.begin));
  const bool hidden = own_.mask.present() || own_.bias.present();
  if (!hidden) return counts;
  std::fill(counts.begin(), counts.end(), 0);
  for (std::int64_t share = run_.begin / kShareKeys; share < shares_of(run_.end) && run_.size() > 0; ++share) {
    ShareScorer& scorer = begin_share(share, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::span<const double> scores = scorer.scores(rows[i]).scores;
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

void SplitCall::run_rounds_of(std::span<InRounds* const> rows, const SplitBlock& block, const Visit& visit) {
  run_rounds(group_, rows, shares_of(keys_), static_cast<int>(scorers_.size()),
             [&](std::int64_t share, int thread, std::span<InRounds* const> live, std::span<SharePart> parts) {
               ShareScorer& scorer = begin_share(share, thread);
               for (std::size_t i = 0, row = 0; i < live.size(); ++i, ++row) {
                 while (rows[row] != live[i]) ++row;
                 visit(scorer, row, scorer.scores(block.rows[row]), parts[i]);
               }
             });
}

void SplitCall::for_each_block(bool keeps_shares, const std::function<void(SplitBlock&)>& body) {
  for (std::size_t at = 0; at < rows_.size(); at += kSplitBlockRows) {
    SplitBlock block{.rows = std::span<const QueryRow>(rows_).subspan(at, std::min(kSplitBlockRows, rows_.size() - at))};
    block.keys = unmasked_keys(block.rows);
    std::vector<InRounds*> rows;
    for (std::size_t i = 0; i < block.rows.size(); ++i) {
      block.split.push_back(split_row(normalizer_, to_size(block.rows[i].at.head), block.keys[i], keeps_shares));
      rows.push_back(block.split.back().get());
    }
    run_rounds_of(rows, block, [&](ShareScorer& scorer, std::size_t row, const ShareScores& share, SharePart& part) {
      if (block.split[row]->visit(share, scorer.weights(), part.numbers)) scorer.add_values(part.sum);
    });
    body(block);
  }
}

void check_together(Group& group, const std::string& door, const std::string& call, const std::function<void()>& check) {
  std::string mine = ' ' + call;
  try {
    check();
  } catch (const Error& error) {
    mine = static_cast<char>('0' + static_cast<int>(error.code())) + std::string(error.what());
  }
  std::string first;
  const std::vector<Group::Bytes> all = group.gather(std::as_bytes(std::span(mine)));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::string text(all[rank].size(), ' ');
    if (!text.empty()) std::memcpy(text.data(), all[rank].data(), text.size());
    if (text.at(0) != ' ') throw Error(static_cast<ErrorCode>(text[0] - '0'), text.substr(1));
    if (rank == 0) first = text;
    if (text != first)
      throw Error(ErrorCode::bad_argument, fmt::format("{}: rank 0 has{}, rank {} has{}; they must agree", door, first, rank, text));
  }
}

std::string call_text(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer) {
  return fmt::format("{} keys, queries {} {}, {} key heads, {} value features, {}{}{}", keys, name_of(own.query.dtype),
                     shape_text(own.query.shape), own.key.shape[1], own.value.shape[3], normalizer.text(),
                     own.mask.present() ? ", a mask" : "", own.bias.present() ? ", a bias" : "");
}

void check_own_keys(const char* door, const AttentionRequest& own, std::int64_t keys, const KeyRun& run,
                    const AnyNormalizer& normalizer) {
  for (const auto* own_keys : {&own.key, &own.value})
    if (own_keys->shape[2] != run.size())
      throw Error(ErrorCode::bad_argument,
                  fmt::format("{}: {} has {} keys; this rank must have {}, keys {} to {} of {}", door,
                              own_keys == &own.key ? "key" : "value", own_keys->shape[2], run.size(), run.begin, run.end, keys));
  if (run.size() == 0) return;
  AttentionRequest here = own, everywhere = own;
  here.key_lengths = here.query_lengths = here.key_offsets = here.query_offsets = {};
  everywhere.mask = {};
  everywhere.bias = {};
  everywhere.key.shape[2] = everywhere.value.shape[2] = keys;
  validate_request(here, normalizer);
  validate_request(everywhere, normalizer);
}

void share_rows(Group& group, int owner, const AnyMutableTensor<4>& tensor) {
  const auto [batches, heads, rows, features] = tensor.shape;
  std::vector<double> all(to_size(batches * heads * rows * features));
  const std::size_t count = to_size(features);
  const auto for_each_row = [&, batches = batches, heads = heads, rows = rows](const auto& visit) {
    std::size_t at = 0;
    for (std::int64_t b = 0; b < batches; ++b)
      for (std::int64_t h = 0; h < heads; ++h)
        for (std::int64_t r = 0; r < rows; ++r, at += count) visit(RowIndex{b, h, r}, std::span(all).subspan(at, count));
  };
  if (group.rank() == owner) {
    const AnyTensor<4> source(tensor.data, tensor.dtype, tensor.shape, tensor.strides);
    for_each_row([&](const RowIndex& at, std::span<double> row) { read_row(source, at, row); });
  }
  const Group::Bytes bytes = group.broadcast(std::as_bytes(std::span(all)), owner);
  if (all.empty()) return;
  std::memcpy(all.data(), bytes.data(), bytes.size());
  if (group.rank() != owner) for_each_row([&](const RowIndex& at, std::span<double> row) { write_row(tensor, at, row); });
}

}  // namespace sharpmax
