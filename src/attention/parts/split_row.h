// A row whose keys are cut into shares: what a share leaves, how two of them merge, and what the whole row makes of it.
//
// A rule takes a few rounds. In a round every share leaves a SharePart, a list of numbers and a weighted sum of values. Parts
// merge along the share tree (sharpmax/fold.h) and the row resolves the part of all shares: it is done, or has another
// round. Nothing here knows who holds which share, so bits depend on the keys alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "normalizer/definition.h"
#include "sharpmax/cluster.h"

namespace sharpmax {

// An empty sum is a sum of zeros.
struct SharePart {
  std::vector<double> numbers;
  std::vector<double> sum;
};

// into.sum = keep * into.sum + take * from.sum
void add_sums(SharePart& into, double keep, const SharePart& from, double take);

// What goes through rounds. One object per row on every rank; all ranks end with the same numbers.
class InRounds {
 public:
  virtual ~InRounds() = default;
  virtual bool done() const noexcept = 0;
  // Joins parts of this round; `into` holds the earlier shares.
  virtual void merge(SharePart& into, const SharePart& from) const = 0;
  // The part of all shares: the row is done afterwards, or ready for its next round.
  virtual void resolve(const SharePart& whole) = 0;
};

// Scores of one share; -inf is a masked key.
struct ShareScores {
  std::int64_t first_key = 0;
  std::span<const double> scores;
};

// What a row came to. Statistics as sharpmax/statistics.h has them.
struct SplitOutcome {
  double scale = 0.0;  // output = scale * sum
  double top = kNoValue;  // largest score; -inf without keys, NaN if one is NaN or +inf
  double mass = 0.0;
  double entropy = 0.0;
  double peak_weight = 0.0;
  RowFacts facts;
  Survey plain = {};                // at beta = 1, under rules whose temperature it chooses
  double low = 0.0, width = 1.0;    // self_adjust: what scores are measured from, and the length of their range
  std::vector<double> sum;
};

class SplitRow : public InRounds {
 public:
  bool done() const noexcept final { return done_; }
  const SplitOutcome& outcome() const noexcept { return outcome_; }

  // What a share leaves in this round. True if it has weights, which are then in `weights`, not yet scaled; that has
  // padded_keys() of the share's scores, and is scratch otherwise.
  virtual bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const = 0;

  // Weights of a share's keys in a row that is done, in double and as used: 0 for masked keys and rows without keys, NaN
  // in poisoned rows.
  void final_weights(const ShareScores& share, std::span<double> weights) const;

 protected:
  // The same for a row that has keys.
  virtual void weigh_again(const ShareScores& share, std::span<double> weights) const = 0;

  void finish(SplitOutcome outcome) {
    outcome_ = std::move(outcome);
    done_ = true;
  }
  // A row without keys, or one that a NaN or +inf has poisoned: `top` is -inf or NaN.
  void finish_without_keys(double top);

 private:
  bool done_ = false;
  SplitOutcome outcome_;
};

// Scores rounded up to whole vectors.
std::size_t padded_keys(std::size_t keys);

// Whether split_row() has a row for it.
bool can_be_split(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n);

// The row of a normalizer over n unmasked keys. Throws Error{unsupported} for a rule that has no parts: one of the
// caller's own, and entmax so close to softmax that it has no kernel. `keeps_shares` is for final_weights(): a row of
// stick_breaking then remembers what each of its shares leaves.
std::unique_ptr<SplitRow> split_row(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n,
                                    bool keeps_shares = false);

// Shares [begin, end) of a row.
struct ShareRun {
  std::int64_t begin = 0, end = 0;
};

// The shares of one rank of `size`. Cuts lie where the rank has few nodes of the share tree to hand on: at multiples of a
// power of two, for which a rank may have an eighth more than another.
ShareRun shares_of_rank(std::int64_t shares, int rank, int size);

// Parts of all rows for one share, in the order of `live`. Called by several threads at a time.
using VisitShare =
    std::function<void(std::int64_t share, int thread, std::span<InRounds* const> live, std::span<SharePart> parts)>;
// Called after some shares of a round, by any thread, one at a time; it may throw.
using SharesDone = std::function<void(std::int64_t shares)>;

// Rounds until all rows are done. Every rank visits its own shares.
void run_rounds(Group& group, std::span<InRounds* const> rows, std::int64_t shares, int threads, const VisitShare& visit,
                const SharesDone& progress = {});

}  // namespace sharpmax
