// The least temperature that is sharp enough, over shares: entropy_target and peak_target.
//
// The first round surveys the row at beta = 1 and keeps its heaviest scores. Lighter keys only add to a row's entropy
// and tail, so the temperature at which the heaviest keys alone reach the target is a lower bound, and nearly the row's
// own. From there each round probes one temperature and weighs the row at it; the search is that of the rows of attend().
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/parts/share_sums.h"

namespace sharpmax {
namespace {

constexpr std::size_t kHeaviest = 64;  // scores kept of a row, largest first
constexpr double kHighestTemperature = 1e15;
constexpr double kCloseEnough = 5e-7;  // of ln(value / bound), as the rows of attend() have it

// A row at one temperature: `ties` keys have gap 0; sums over the others.
struct ProbedRow {
  double beta = 1.0, ties = 0.0, tail = 0.0, moment = 0.0, square = 0.0;

  double sum() const { return ties + tail; }
  double entropy() const { return std::log1p((ties - 1.0) + tail) - beta * moment / sum(); }
  double variance() const {
    const double mean = moment / sum();
    return square / sum() - mean * mean;
  }
};

// What is asked of a row, as a value that falls below a bound as beta grows.
class Sharpness {
 public:
  explicit Sharpness(const Rule& rule) : entropy_(rule.kind == RuleKind::entropy_target) {
    constexpr double kMargin = 5e-7;  // sums are good to a few 1e-7
    if (entropy_) {
      bound_ = rule.target * (1.0 - kMargin);
      return;
    }
    float weight = static_cast<float>(rule.target);
    if (weight < rule.target) weight = std::nextafter(weight, 2.0f);
    const double peak = std::min(static_cast<double>(weight), 1.0 - 0x1p-26);
    bound_ = (1.0 - peak) / peak * (1.0 - kMargin);
  }
  double bound() const { return bound_; }
  bool within_reach(double ties) const { return (entropy_ ? std::log(ties) : ties - 1.0) < bound_; }
  double value(const ProbedRow& row) const { return entropy_ ? row.entropy() : (row.ties - 1.0) + row.tail; }
  double slope(const ProbedRow& row) const { return entropy_ ? -row.beta * row.variance() : row.moment; }

 private:
  bool entropy_;
  double bound_ = 0.0;
};

// ln(value / bound) and its slope at a temperature.
struct TargetPoint {
  double beta = 1.0, height = 0.0, slope = 0.0;
};

// Scores, largest first, at one temperature.
ProbedRow probe_heaviest(std::span<const double> heaviest, double beta) {
  ProbedRow row{.beta = beta};
  for (const double score : heaviest) {
    const double gap = score - heaviest.front(), weight = std::exp(beta * gap);
    if (gap == 0.0) {
      row.ties += 1.0;
      continue;
    }
    row.tail += weight;
    row.moment += weight * gap;
    row.square += weight * gap * gap;
  }
  return row;
}

// By bisection of ln beta: a few thousand exponentials, nothing beside a round.
double temperature_of(std::span<const double> heaviest, const Sharpness& sharpness) {
  constexpr int kSteps = 60;
  double low = 1.0, high = kHighestTemperature;
  if (sharpness.value(probe_heaviest(heaviest, low)) <= sharpness.bound()) return low;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = std::sqrt(low) * std::sqrt(high);
    (sharpness.value(probe_heaviest(heaviest, middle)) <= sharpness.bound() ? high : low) = middle;
  }
  return high;
}

class TargetRow final : public SplitRow {
 public:
  explicit TargetRow(const Rule& rule) : sharpness_(rule) {}

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    const bool first = stage_ == Stage::survey;
    const double top = first ? largest_score(share.scores) : top_;
    numbers = {top, 0.0, 0.0, 0.0, 0.0};
    if (!std::isfinite(top)) return false;
    weigh_gaps(share.scores, top, beta_, weights);
    const GapSums sums = gap_sums(share.scores, top, weights);
    numbers = {top, sums.ties, sums.sum, sums.moment, sums.square};
    if (first) append_heaviest(share.scores, numbers);
    if (stage_ == Stage::ties)
      for (std::size_t i = 0; i < share.scores.size(); ++i)
        weights[i] = static_cast<float>(share.scores[i] - top_) == 0.0f ? 1.0f : 0.0f;
    return !first;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    if (stage_ == Stage::survey) return merge_surveys(into.numbers, from.numbers);
    for (std::size_t i = kTies; i <= kSquare; ++i) into.numbers[i] += from.numbers[i];
    add_sums(into, 1.0, from, 1.0);
  }

  void resolve(const SharePart& whole) override {
    const std::vector<double>& n = whole.numbers;
    if (!std::isfinite(n[kTop])) return finish_without_keys(n[kTop]);
    const ProbedRow row{beta_, n[kTies], n[kTail], n[kMoment], n[kSquare]};
    if (stage_ == Stage::survey) return begin(row, n);
    if (stage_ == Stage::ties) return finish_ties(whole, row.ties);
    const TargetPoint now{beta_, std::log(sharpness_.value(row) / sharpness_.bound()),
                    sharpness_.slope(row) / sharpness_.value(row)};
    const bool sharp = now.height <= 0.0;
    if ((sharp && (beta_ == 1.0 || now.height >= -2.0 * kCloseEnough)) || ++rounds_ > kMostRounds)
      return finish_at(whole, row);
    (sharp ? high_ : low_) = beta_;
    if (!(high_ - low_ > 4e-15 * high_)) {
      if (sharp) return finish_at(whole, row);
      beta_ = high_;
      rounds_ = kMostRounds;  // the last one
      return;
    }
    beta_ = next_after(now);
    before_ = now;
    if (!(beta_ < 0.5 * kHighestTemperature)) stage_ = Stage::ties;
  }

 protected:
  void weigh_again(const ShareScores& share, std::span<double> weights) const override {
    const bool ties = stage_ == Stage::ties;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const float gap = static_cast<float>(share.scores[i] - top_);
      const double weight = ties ? (gap == 0.0f ? 1.0 : 0.0) : std::exp(beta_ * (share.scores[i] - top_));
      weights[i] = std::isinf(share.scores[i]) ? 0.0 : outcome().scale * weight;
    }
  }

 private:
  enum class Stage { survey, probe, ties };
  enum Number : std::size_t { kTop, kTies, kTail, kMoment, kSquare, kScores };
  static constexpr int kMostRounds = 200;  // bisection alone would need about 100

  static void append_heaviest(std::span<const double> scores, std::vector<double>& numbers) {
    std::vector<double> heap;  // its least score in front
    for (const double score : scores) {
      if (heap.size() == kHeaviest) {
        if (!(score > heap.front())) continue;
        std::pop_heap(heap.begin(), heap.end(), std::greater<>());
        heap.back() = score;
      } else {
        if (std::isinf(score)) continue;
        heap.push_back(score);
      }
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    std::sort(heap.begin(), heap.end(), std::greater<>());
    numbers.insert(numbers.end(), heap.begin(), heap.end());
  }

  // At beta = 1, each relative to its own largest score.
  static void merge_surveys(std::vector<double>& into, const std::vector<double>& from) {
    const double top = larger_score(into[kTop], from[kTop]);
    if (std::isnan(top)) {
      into.assign(kScores, top);
      return;
    }
    if (std::isinf(from[kTop])) return;
    if (std::isinf(into[kTop])) {
      into = from;
      return;
    }
    std::vector<double> joined = {top, 0.0, 0.0, 0.0, 0.0};
    for (const std::vector<double>* part : {&std::as_const(into), &from}) {
      const std::vector<double>& p = *part;
      const double shift = p[kTop] - top, scale = std::exp(shift), sum = p[kTies] + p[kTail];
      if (shift == 0.0) {
        for (std::size_t i = kTies; i <= kSquare; ++i) joined[i] += p[i];
        continue;
      }
      joined[kTail] += scale * sum;
      joined[kMoment] += scale * (p[kMoment] + shift * sum);
      joined[kSquare] += scale * (p[kSquare] + 2.0 * shift * p[kMoment] + shift * shift * sum);
    }
    joined.resize(into.size() + from.size() - kScores);
    std::merge(into.begin() + kScores, into.end(), from.begin() + kScores, from.end(), joined.begin() + kScores,
               std::greater<>());
    if (joined.size() > kScores + kHeaviest) joined.resize(kScores + kHeaviest);
    into = std::move(joined);
  }

  void begin(const ProbedRow& row, const std::vector<double>& numbers) {
    top_ = numbers[kTop];
    stage_ = Stage::probe;
    high_ = kHighestTemperature;
    if (sharpness_.value(row) <= sharpness_.bound()) return;  // beta = 1 will do
    if (!sharpness_.within_reach(row.ties)) {
      stage_ = Stage::ties;
      return;
    }
    before_ = {1.0, std::log(sharpness_.value(row) / sharpness_.bound()), sharpness_.slope(row) / sharpness_.value(row)};
    const double heaviest = temperature_of(std::span(numbers).subspan(kScores), sharpness_);
    beta_ = heaviest > 1.0 ? heaviest : std::min(2.0, 0.5 * kHighestTemperature);
    if (!(beta_ < 0.5 * kHighestTemperature)) stage_ = Stage::ties;
  }

  // Newton's step, the cubic through two points close to the root, or the middle of the bracket.
  double next_after(const TargetPoint& now) const {
    const bool near = std::max(std::abs(now.height), std::abs(before_.height)) < 2.0 && before_.height != now.height;
    double next = now.beta - (now.height + kCloseEnough) / now.slope;
    if (near) {
      const double width = now.height - before_.height, t = (-kCloseEnough - before_.height) / width, s = 1.0 - t;
      next = s * s * ((1.0 + 2.0 * t) * before_.beta + t * width / before_.slope) +
             t * t * ((1.0 + 2.0 * s) * now.beta - s * width / now.slope);
    }
    if (next > low_ && next < high_) return next;
    return high_ > 2.0 * low_ ? std::sqrt(low_) * std::sqrt(high_) : 0.5 * (low_ + high_);
  }

  void finish_at(const SharePart& whole, const ProbedRow& row) {
    const double tail = (row.ties - 1.0) + row.tail;
    finish({.scale = 1.0 / row.sum(),
            .top = top_,
            .mass = 1.0,
            .entropy = row.entropy(),
            .peak_weight = 1.0 / (1.0 + tail),
            .facts = {.temperature = beta_, .log_partition = beta_ * top_ + std::log1p(tail)},
            .sum = whole.sum});
  }

  void finish_ties(const SharePart& whole, double ties) {
    finish({.scale = 1.0 / ties,
            .top = top_,
            .mass = 1.0,
            .entropy = std::log(ties),
            .peak_weight = 1.0 / ties,
            .facts = {.temperature = std::numeric_limits<double>::infinity()},
            .sum = whole.sum});
  }

  Sharpness sharpness_;
  Stage stage_ = Stage::survey;
  double beta_ = 1.0, low_ = 1.0, high_ = kHighestTemperature, top_ = 0.0;
  TargetPoint before_;
  int rounds_ = 0;
};

}  // namespace

std::unique_ptr<SplitRow> target_row(const Rule& rule) { return std::make_unique<TargetRow>(rule); }

}  // namespace sharpmax
