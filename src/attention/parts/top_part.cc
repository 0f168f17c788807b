// The k heaviest keys of a row: top_k, and hard with k = 1. Of equal scores the lower key counts.
//
// The first round finds the keys with their scores, which settles all weights; the second sums their values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/parts/share_sums.h"

namespace sharpmax {
namespace {

struct ScoredKey {
  double score = 0.0;
  std::int64_t key = 0;

  bool operator<(const ScoredKey& other) const {  // heavier first
    return score != other.score ? score > other.score : key < other.key;
  }
};

// Numbers of a part: the largest score, then scores and keys, heaviest first.
std::vector<ScoredKey> keys_in(const std::vector<double>& numbers) {
  std::vector<ScoredKey> keys;
  for (std::size_t i = 1; i < numbers.size(); i += 2)
    keys.push_back({numbers[i], static_cast<std::int64_t>(numbers[i + 1])});
  return keys;
}
std::vector<double> numbers_of(double top, std::span<const ScoredKey> keys) {
  std::vector<double> numbers = {top};
  for (const ScoredKey& key : keys) numbers.insert(numbers.end(), {key.score, static_cast<double>(key.key)});
  return numbers;
}

class TopRow final : public SplitRow {
 public:
  TopRow(const Rule& rule, std::int64_t n)
      : hard_(rule.kind == RuleKind::hard),
        beta_(rule.beta),
        count_(static_cast<std::size_t>(std::min(rule.target, static_cast<double>(n)))) {}

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    if (!searching_) return weigh(share, weights, numbers);
    const double top = largest_score(share.scores);
    std::vector<ScoredKey> heap;  // its lightest in front
    for (std::size_t i = 0; i < share.scores.size() && std::isfinite(top); ++i) {
      const ScoredKey key{share.scores[i], share.first_key + static_cast<std::int64_t>(i)};
      if (heap.size() == count_) {
        if (!(key < heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end());
        heap.back() = key;
      } else {
        if (std::isinf(key.score)) continue;
        heap.push_back(key);
      }
      std::push_heap(heap.begin(), heap.end());
    }
    std::sort_heap(heap.begin(), heap.end());
    numbers = numbers_of(top, heap);
    return false;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    if (!searching_) return add_sums(into, 1.0, from, 1.0);
    const std::vector<ScoredKey> a = keys_in(into.numbers), b = keys_in(from.numbers);
    std::vector<ScoredKey> joined(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), joined.begin());
    if (joined.size() > count_) joined.resize(count_);
    into.numbers = numbers_of(larger_score(into.numbers[0], from.numbers[0]), joined);
  }

  void resolve(const SharePart& whole) override {
    if (!searching_) {
      outcome_.sum = whole.sum;
      return finish(std::move(outcome_));
    }
    if (!std::isfinite(whole.numbers[0])) return finish_without_keys(whole.numbers[0]);
    searching_ = false;
    keys_ = keys_in(whole.numbers);
    top_ = keys_.front().score;
    double tail = 0.0, moment = 0.0;
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      const double gap = beta_ * (keys_[i].score - top_);
      tail += std::exp(gap);
      moment += std::exp(gap) * gap;
    }
    outcome_ = {.scale = 1.0 / (1.0 + tail),
                .mass = 1.0,
                .entropy = std::log1p(tail) - moment / (1.0 + tail),
                .peak_weight = 1.0 / (1.0 + tail)};
    if (!hard_) outcome_.facts = {.temperature = beta_, .log_partition = beta_ * top_ + std::log1p(tail)};
    std::sort(keys_.begin(), keys_.end(), [](const ScoredKey& a, const ScoredKey& b) { return a.key < b.key; });
  }

 private:
  bool weigh(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const {
    numbers.clear();
    const std::int64_t end = share.first_key + static_cast<std::int64_t>(share.scores.size());
    auto at = std::lower_bound(keys_.begin(), keys_.end(), share.first_key,
                               [](const ScoredKey& key, std::int64_t first) { return key.key < first; });
    if (at == keys_.end() || at->key >= end) return false;
    std::fill(weights.begin(), weights.end(), 0.0f);
    for (; at != keys_.end() && at->key < end; ++at)
      weights[static_cast<std::size_t>(at->key - share.first_key)] =
          static_cast<float>(std::exp(beta_ * (at->score - top_)));
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
