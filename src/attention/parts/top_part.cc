// The k heaviest keys of a row: top_k, and hard with k = 1. Of equal scores the lower key counts.
//
// The first round finds the keys with their scores, which settles all weights; the second sums their values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/parts/share_sums.h"

namespace sharpmax {
namespace {

// Numbers of a part of the first round: its largest score, then scores and keys, heaviest first.
class TopRow final : public SplitRow {
 public:
  TopRow(const Rule& rule, std::int64_t n)
      : hard_(rule.kind == RuleKind::hard),
        beta_(rule.beta),
        count_(static_cast<std::size_t>(std::min(rule.target, static_cast<double>(n)))) {}

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    if (!searching_) return weigh(share, weights, numbers);
    const double top = largest_score(share.scores);
    numbers = {top};
    if (std::isfinite(top)) put_keys(heaviest_keys(share.scores, share, count_), numbers);
    return false;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    if (!searching_) return add_sums(into, 1.0, from, 1.0);
    const std::vector<ScoredKey> joined = merged_keys(keys_in(std::span(into.numbers).subspan(1)),
                                                      keys_in(std::span(from.numbers).subspan(1)), count_);
    into.numbers = {larger_score(into.numbers[0], from.numbers[0])};
    put_keys(joined, into.numbers);
  }

  void resolve(const SharePart& whole) override {
    if (!searching_) {
      outcome_.sum = whole.sum;
      return finish(std::move(outcome_));
    }
    if (!std::isfinite(whole.numbers[0])) return finish_without_keys(whole.numbers[0]);
    searching_ = false;
    keys_ = keys_in(std::span(whole.numbers).subspan(1));
    top_ = keys_.front().value;
    double tail = 0.0, moment = 0.0;
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      const double gap = beta_ * (keys_[i].value - top_);
      tail += std::exp(gap);
      moment += std::exp(gap) * gap;
    }
    outcome_ = {.scale = 1.0 / (1.0 + tail),
                .top = top_,
                .mass = 1.0,
                .entropy = std::log1p(tail) - moment / (1.0 + tail),
                .peak_weight = 1.0 / (1.0 + tail)};
    if (!hard_) outcome_.facts = {.temperature = beta_, .log_partition = beta_ * top_ + std::log1p(tail)};
    std::sort(keys_.begin(), keys_.end(), [](const ScoredKey& a, const ScoredKey& b) { return a.key < b.key; });
  }

 protected:
  void weigh_again(const ShareScores& share, std::span<double> weights) const override {
    if (fill_weights(share, weights))
      for (double& weight : weights) weight *= outcome().scale;
    else
      std::fill(weights.begin(), weights.end(), 0.0);
  }

 private:
  bool weigh(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const {
    numbers.clear();
    return fill_weights(share, weights);
  }

  // False if none of the keys is in the share; then nothing is written.
  template <class T>
  bool fill_weights(const ShareScores& share, std::span<T> weights) const {
    const std::int64_t end = share.first_key + static_cast<std::int64_t>(share.scores.size());
    auto at = std::lower_bound(keys_.begin(), keys_.end(), share.first_key,
                               [](const ScoredKey& key, std::int64_t first) { return key.key < first; });
    if (at == keys_.end() || at->key >= end) return false;
    std::fill(weights.begin(), weights.end(), T(0));
    for (; at != keys_.end() && at->key < end; ++at)
      weights[static_cast<std::size_t>(at->key - share.first_key)] =
          static_cast<T>(std::exp(beta_ * (at->value - top_)));
    return true;
  }

  bool hard_, searching_ = true;
  double beta_, top_ = 0.0;
  std::size_t count_;
  std::vector<ScoredKey> keys_;  // by key
  SplitOutcome outcome_;
};

}  // namespace

std::unique_ptr<SplitRow> top_row(const Rule& rule, std::int64_t n) { return std::make_unique<TopRow>(rule, n); }

}  // namespace sharpmax
