// [z - tau]+^p with z = (alpha - 1) beta (e - m), p = 1 / (alpha - 1), over shares: sparsemax, entmax15, entmax, asentmax.
//
// Only keys with z > -1 can get weight. The first round collects them, each share against its own largest score, which
// keeps a few too many and never one too few. If a row has more than kMostCandidates of them, further rounds search tau
// by sums alone. In z shifted by its maximum, tau = -peak^(alpha - 1).
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/parts/share_sums.h"
#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

constexpr std::size_t kMostCandidates = 4096;

class ThresholdRow final : public SplitRow {
 public:
  explicit ThresholdRow(const Rule& rule)
      : rule_(rule), slope_((rule.alpha - 1.0) * rule.beta), power_(1.0 / (rule.alpha - 1.0)) {}

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    if (stage_ == Stage::collect) {
      collect(share.scores, numbers);
      return false;
    }
    if (stage_ == Stage::search) {
      probe(share.scores, numbers);
      return false;
    }
    WeightSums sums;
    for (std::size_t i = 0; i < share.scores.size(); ++i) {
      const double weight = raised(slope_ * (share.scores[i] - top_) - tau_, power_);
      weights[i] = static_cast<float>(weight);
      sums.add(weight);
    }
    numbers = {sums.mass, sums.logs, sums.peak};
    return sums.mass > 0.0;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    if (stage_ == Stage::collect) return merge_candidates(into.numbers, from.numbers);
    const double peak = stage_ == Stage::weigh ? std::max(into.numbers[2], from.numbers[2]) : 0.0;
    for (std::size_t i = 0; i < into.numbers.size(); ++i) into.numbers[i] += from.numbers[i];
    if (stage_ == Stage::weigh) into.numbers[2] = peak;
    add_sums(into, 1.0, from, 1.0);
  }

  void resolve(const SharePart& whole) override {
    const std::vector<double>& n = whole.numbers;
    switch (stage_) {
      case Stage::collect:
        if (!std::isfinite(n[kTop])) return finish_without_keys(n[kTop]);
        top_ = n[kTop];
        stage_ = n[kOverflow] == 0.0 ? Stage::weigh : Stage::search;
        if (stage_ == Stage::weigh) solve(std::span(n).subspan(kScores));
        return;
      case Stage::search:
        return step(n[0], n[1]);
      case Stage::weigh:
        const WeightSums sums{n[0], n[1], n[2]};
        return finish({.scale = 1.0 / sums.mass,
                       .top = top_,
                       .mass = 1.0,
                       .entropy = sums.entropy(),
                       .peak_weight = sums.peak_weight(),
                       .facts = {.temperature = rule_.beta, .threshold = tau_ + slope_ * top_},
                       .sum = whole.sum});
    }
  }

 protected:
  void weigh_again(const ShareScores& share, std::span<double> weights) const override {
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = outcome().scale * raised(slope_ * (share.scores[i] - top_) - tau_, power_);
  }

 private:
  enum class Stage { collect, search, weigh };
  enum Number : std::size_t { kTop, kOverflow, kScores };  // of a part that collects

  static double raised(double over, double power) {
    if (!(over > 0.0)) return 0.0;
    if (power == 1.0) return over;
    return power == 2.0 ? over * over : std::pow(over, power);
  }

  // Keeps the scores that can have weight beside the largest of the part.
  void prune(std::vector<double>& numbers) const {
    const double limit = numbers[kTop] - 1.0 / slope_ * (1.0 + 1e-12);
    const auto scores = numbers.begin() + kScores;
    numbers.erase(std::remove_if(scores, numbers.end(), [&](double e) { return e < limit; }), numbers.end());
    if (numbers.size() <= kScores + kMostCandidates) return;
    numbers.resize(kScores);
    numbers[kOverflow] = 1.0;
  }

  void collect(std::span<const double> scores, std::vector<double>& numbers) const {
    const double top = largest_score(scores);
    numbers = {top, 0.0};
    if (!std::isfinite(top)) return;
    const double limit = top - 1.0 / slope_ * (1.0 + 1e-12);
    for (const double e : scores)
      if (e >= limit) numbers.push_back(e);
    prune(numbers);
  }

  // A part that overflowed beside a much larger score may have had no candidate at all; the search finds that out.
  void merge_candidates(std::vector<double>& into, const std::vector<double>& from) const {
    into[kTop] = larger_score(into[kTop], from[kTop]);
    into[kOverflow] = std::max(into[kOverflow], from[kOverflow]);
    into.insert(into.end(), from.begin() + kScores, from.end());
    if (into[kOverflow] != 0.0) into.resize(kScores);
    if (std::isfinite(into[kTop])) prune(into);
  }

  void solve(std::span<const double> candidates) {
    std::vector<double> weights(candidates.size());
    entmax_weigh(rule_.alpha, rule_.beta, candidates, weights);
    tau_ = -std::pow(*std::max_element(weights.begin(), weights.end()), rule_.alpha - 1.0);
  }

  // Sums of [z - tau]+^p and of [z - tau]+^(p - 1).
  void probe(std::span<const double> scores, std::vector<double>& numbers) const {
    numbers = {0.0, 0.0};
    for (const double e : scores) {
      const double over = slope_ * (e - top_) - tau_;
      if (!(over > 0.0)) continue;
      const double less = power_ == 1.0 ? 1.0 : raised(over, power_ - 1.0);
      numbers[0] += less * over;
      numbers[1] += less;
    }
  }

  // Newton on the p-norm climbs to the root from below for p >= 1; above alpha = 2 the bracket is halved.
  void step(double sum, double less) {
    constexpr double kClose = 1e-13;
    constexpr int kMostRounds = 100;
    (sum >= 1.0 ? low_ : high_) = tau_;
    double next = 0.5 * (low_ + high_);
    if (power_ >= 1.0) next = tau_ + (sum - std::pow(sum, 1.0 - 1.0 / power_)) / less;
    // Looked at before the bracket: rounding may put the last step of Newton just outside.
    const bool close = std::abs(next - tau_) <= -kClose * tau_;
    if (!close && !(next > low_ && next < high_)) next = 0.5 * (low_ + high_);
    tau_ = next;
    if (close || ++rounds_ == kMostRounds) stage_ = Stage::weigh;
  }

  Rule rule_;
  double slope_, power_, top_ = 0.0, tau_ = -1.0, low_ = -1.0, high_ = 0.0;
  int rounds_ = 0;
  Stage stage_ = Stage::collect;
};

}  // namespace

std::unique_ptr<SplitRow> threshold_row(const Rule& rule) { return std::make_unique<ThresholdRow>(rule); }

}  // namespace sharpmax
