// What attend_split() and its backward share: rows, scores of a share, rounds over a block of rows, checks on all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/oracle/oracle.h"
#include "attention/parts/split_row.h"
#include "sharpmax/split.h"

namespace sharpmax {

// Rows whose rounds are shared: what a share leaves of each is held at the same time.
inline constexpr std::size_t kSplitBlockRows = 256;

struct QueryRow {
  RowIndex at;
  KeyRange keys;  // of all
};

// One thread's scores of a share, in double.
class ShareScorer {
 public:
  ShareScorer(const AttentionRequest& own, const KeyRun& run, const AnyNormalizer& normalizer);

  // Keys [first, last), of all; scores of keys that a row does not see are masked.
  void begin(std::int64_t first, std::int64_t last);
  ShareScores scores(const QueryRow& row);
  std::int64_t first_key() const noexcept { return first_; }

  // The following are about the row whose scores were asked for last.

  std::span<float> weights() { return weights_; }  // scratch, whole vectors
  // sum = weights() times values.
  void add_values(std::vector<double>& sum) const;

  std::span<double> exact_weights() { return exact_; }  // scratch, one per key
  std::span<double> d_scores() { return d_scores_; }    // scratch, one per key
  // d_out . value of every unmasked key; 0 for the others.
  std::span<const double> d_weights(std::span<const double> d_out);
  // From d_scores(): d_query = its share of the gradient of the query as it is scored, d_key += (rows of the share's keys).
  void through_scores(std::vector<double>& d_query, double* d_key) const;
  // d_value += exact_weights() times d_out.
  void add_value_gradient(std::span<const double> d_out, double* d_value) const;

 private:
  std::size_t features() const { return static_cast<std::size_t>(own_.key.shape[3]); }
  std::size_t value_features() const { return static_cast<std::size_t>(own_.value.shape[3]); }
  void load(const RowIndex& at);

  const AttentionRequest& own_;
  KeyRun run_;
  bool linear_;
  double scale_;
  std::int64_t heads_, first_ = 0, batch_ = -1, head_ = -1;
  std::vector<double> query_, keys_, key_slopes_, values_, scores_, cap_slopes_, bias_, exact_, d_weights_, d_scores_;
  std::vector<float> weights_;
};

// A block of rows after its forward rounds.
struct SplitBlock {
  std::span<const QueryRow> rows;
  std::vector<std::int64_t> keys;  // unmasked, of each row
  std::vector<std::unique_ptr<SplitRow>> split;
};

class SplitCall {
 public:
  // `own` must outlive it.
  SplitCall(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer, Group& group, int threads);

  // Calls body(block) for all rows, a block at a time. `keeps_shares`: as split_row() has it.
  void for_each_block(bool keeps_shares, const std::function<void(SplitBlock&)>& body);

  // Rounds until all of `rows` are done; one per row of the block. visit() is called for each of this rank's shares and each
  // row that is not done yet, by several threads, of which no two have the same share.
  using Visit = std::function<void(ShareScorer&, std::size_t row, const ShareScores&, SharePart&)>;
  void run_rounds_of(std::span<InRounds* const> rows, const SplitBlock& block, const Visit& visit);

  const KeyRun& run() const noexcept { return run_; }

 private:
  ShareScorer& begin_share(std::int64_t share, int thread);
  std::vector<std::int64_t> unmasked_keys(std::span<const QueryRow> rows);

  const AttentionRequest& own_;
  std::int64_t keys_;
  const AnyNormalizer& normalizer_;
  Group& group_;
  KeyRun run_;
  std::vector<QueryRow> rows_;
  std::vector<std::unique_ptr<ShareScorer>> scorers_;
};

// Runs `check` on every rank. If it throws an Error on some, all ranks throw what the first of them said. Otherwise all
// ranks must have the same `call`, which describes the call in words.
void check_together(Group& group, const std::string& door, const std::string& call, const std::function<void()>& check);

// What attend_split() and its backward ask of the inputs of this rank.
void check_own_keys(const char* door, const AttentionRequest& own, std::int64_t keys, const KeyRun& run,
                    const AnyNormalizer& normalizer);
// In words, as far as all ranks must have the same.
std::string call_text(const AttentionRequest& own, std::int64_t keys, const AnyNormalizer& normalizer);

// Makes a tensor the same on all ranks: that of `owner`.
void share_rows(Group& group, int owner, const AnyMutableTensor<4>& tensor);

}  // namespace sharpmax
