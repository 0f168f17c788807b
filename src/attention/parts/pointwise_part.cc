// Rules that weigh each key by itself and at most divide by a sum: sigmoid, relu, softpick, self_adjust, proportional; and
// stick_breaking, whose shares fold newest first.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention/parts/share_sums.h"
#include "attention/rows/row.h"
#include "sharpmax/fold.h"

namespace sharpmax {
namespace {

bool is_masked(double score) { return score == -std::numeric_limits<double>::infinity(); }

// Sums of a part are relative to exp(reference): softpick and self_adjust would overflow without.
class PointwiseRow final : public SplitRow {
 public:
  PointwiseRow(const Rule& rule, std::int64_t n)
      : rule_(rule),
        keys_(static_cast<double>(n)),
        ranging_(rule.kind == RuleKind::self_adjust && rule.target != 1.0) {}

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    const double top = largest_score(share.scores);
    numbers.assign(kNumbers, 0.0);
    numbers[kTop] = top;
    numbers[kReference] = numbers[kLeast] = -std::numeric_limits<double>::infinity();
    if (ranging_) {
      double least = std::numeric_limits<double>::infinity();
      for (const double e : share.scores) least = is_masked(e) ? least : std::min(least, e);
      numbers[kLeast] = -least;  // so that both ends merge by their maximum
      return false;
    }
    if (!std::isfinite(top)) return false;
    const double reference = rule_.kind == RuleKind::softpick ? std::max(top, 0.0)
                             : rule_.kind == RuleKind::self_adjust ? top
                                                                   : 0.0;
    double beside = 0.0;  // what the sum of weights is divided by, as far as it is not their own sum
    if (rule_.kind == RuleKind::self_adjust) weigh_gaps(share.scores, top, 1.0, weights);
    WeightSums sums;
    bool negative = false;
    for (std::size_t i = 0; i < share.scores.size(); ++i) {
      const double weight = is_masked(share.scores[i]) ? 0.0 : weight_of(share.scores[i], reference, weights[i], beside);
      weights[i] = static_cast<float>(weight);
      negative |= weight < 0.0;
      if (weight < 0.0)
        sums.mass += weight;
      else
        sums.add(weight);
    }
    numbers = {top, numbers[kLeast], reference, sums.mass, sums.logs, sums.peak, beside, negative ? 1.0 : 0.0};
    return true;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    std::vector<double>& a = into.numbers;
    const std::vector<double>& b = from.numbers;
    const double top = larger_score(a[kTop], b[kTop]), least = std::max(a[kLeast], b[kLeast]);
    const double reference = std::max(a[kReference], b[kReference]);
    const auto kept = [&](double own) { return std::isinf(own) ? 0.0 : std::exp(own - reference); };
    const double keep = kept(a[kReference]), take = kept(b[kReference]);
    WeightSums sums{a[kMass], a[kLogs], a[kPeak]}, others{b[kMass], b[kLogs], b[kPeak]};
    sums.scale(keep);
    others.scale(take);
    sums.add(others);
    add_sums(into, keep, from, take);
    a = {top,       least,     reference, sums.mass, sums.logs,
         sums.peak, keep * a[kBeside] + take * b[kBeside], std::max(a[kNegative], b[kNegative])};
  }

  void resolve(const SharePart& whole) override {
    const std::vector<double>& n = whole.numbers;
    if (!std::isfinite(n[kTop])) return finish_without_keys(n[kTop]);
    if (ranging_) {
      ranging_ = false;
      low_ = std::min(-n[kLeast], 0.0);
      width_ = std::max(n[kTop], 0.0) - low_;
      return;
    }
    const WeightSums sums{n[kMass], n[kLogs], n[kPeak]};
    const double scale = scale_of(n);
    const bool described = n[kNegative] == 0.0;  // w / mass is a distribution
    SplitOutcome outcome{.scale = scale,
                         .top = n[kTop],
                         .mass = sums.mass * scale,
                         .entropy = described ? sums.entropy() : kNoValue,
                         .peak_weight = described ? sums.peak_weight() : kNoValue,
                         .low = low_,
                         .width = width_,
                         .sum = whole.sum};
    if (rule_.kind == RuleKind::self_adjust)
      outcome.facts = {.temperature = 1.0, .log_partition = n[kReference] + std::log(n[kBeside])};
    finish(std::move(outcome));
  }

 protected:
  void weigh_again(const ShareScores& share, std::span<double> weights) const override {
    const double top = outcome().top;
    const bool adjusts = rule_.kind == RuleKind::self_adjust;
    const double reference = rule_.kind == RuleKind::softpick ? std::max(top, 0.0) : top;
    double beside = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const double e = share.scores[i];
      const double exponential = adjusts && !is_masked(e) ? std::exp(e - top) : 0.0;
      weights[i] = is_masked(e) ? 0.0 : outcome().scale * weight_of(e, reference, exponential, beside);
    }
  }

 private:
  enum Number : std::size_t { kTop, kLeast, kReference, kMass, kLogs, kPeak, kBeside, kNegative, kNumbers };

  double weight_of(double e, double reference, double exponential, double& beside) const {
    switch (rule_.kind) {
      case RuleKind::sigmoid: {
        const double x = e + rule_.offset, small = std::exp(-std::abs(x));
        return (x < 0.0 ? small : 1.0) / (1.0 + small);
      }
      case RuleKind::relu:
        return std::max(e, 0.0);
      case RuleKind::softpick: {
        const double weight = e > 0.0 ? -std::expm1(-e) * std::exp(e - reference) : 0.0;
        beside += e > 0.0 ? weight : -std::expm1(e) * std::exp(-reference);
        return weight;
      }
      case RuleKind::self_adjust:
        beside += exponential;
        return exponential * (rule_.target == 1.0 ? e : e - low_);
      default:
        return e;
    }
  }

  double scale_of(const std::vector<double>& n) const {
    switch (rule_.kind) {
      case RuleKind::sigmoid:
        return 1.0;
      case RuleKind::relu:
        return 1.0 / keys_;
      case RuleKind::softpick:
        return n[kBeside] > 0.0 ? 1.0 / n[kBeside] : 0.0;
      case RuleKind::self_adjust:
        if (rule_.target == 1.0) return 1.0 / n[kBeside];
        return width_ > 0.0 ? 1.0 / (n[kBeside] * width_) : 0.0;
      default:
        return n[kMass] > 0.0 ? 1.0 / n[kMass] : 0.0;
    }
  }

  Rule rule_;
  double keys_, low_ = 0.0, width_ = 1.0;
  bool ranging_;
};

// A key takes its part of what newer keys left. Numbers: the largest score, -ln of what a part leaves, then its weights;
// and if shares are kept, -ln of what each share leaves.
class StickRow final : public SplitRow {
 public:
  explicit StickRow(bool keeps_shares) : keeps_shares_(keeps_shares) {}

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    const double top = largest_score(share.scores);
    numbers = {top, 0.0, 0.0, 0.0, 0.0};
    if (keeps_shares_) numbers.push_back(0.0);
    if (!std::isfinite(top)) return false;
    WeightSums sums;
    const double broken_off = break_off(share.scores, 0.0, [&](std::size_t i, double weight) {
      weights[i] = static_cast<float>(weight);
      sums.add(weight);
    });
    numbers = {top, broken_off, sums.mass, sums.logs, sums.peak};
    if (keeps_shares_) numbers.push_back(broken_off);
    return true;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    std::vector<double>& a = into.numbers;
    const std::vector<double>& b = from.numbers;
    const double left = std::exp(-b[1]);
    WeightSums older{a[2], a[3], a[4]};
    older.scale(left);
    older.add(WeightSums{b[2], b[3], b[4]});
    add_sums(into, left, from, 1.0);
    const std::array<double, kFirstShare> joined = {larger_score(a[0], b[0]), a[1] + b[1], older.mass, older.logs, older.peak};
    std::copy(joined.begin(), joined.end(), a.begin());
    a.insert(a.end(), b.begin() + kFirstShare, b.end());
  }

  void resolve(const SharePart& whole) override {
    const std::vector<double>& n = whole.numbers;
    if (!std::isfinite(n[0])) return finish_without_keys(n[0]);
    const WeightSums sums{n[2], n[3], n[4]};
    newer_.assign(n.size() - kFirstShare, 0.0);
    for (std::size_t share = newer_.size(); share-- > 1;) newer_[share - 1] = newer_[share] + n[kFirstShare + share];
    finish({.scale = 1.0,
            .top = n[0],
            .mass = sums.mass,
            .entropy = sums.entropy(),
            .peak_weight = sums.peak_weight(),
            .sum = whole.sum});
  }

 protected:
  void weigh_again(const ShareScores& share, std::span<double> weights) const override {
    break_off(share.scores, newer_[static_cast<std::size_t>(share.first_key / kShareKeys)],
              [&](std::size_t i, double weight) { weights[i] = weight; });
  }

 private:
  static constexpr std::size_t kFirstShare = 5;

  // take(key, weight), newest first, of a stick of which exp(-broken_off) is left; returns -ln of what is left after.
  template <class Take>
  static double break_off(std::span<const double> scores, double broken_off, const Take& take) {
    for (std::size_t i = scores.size(); i-- > 0;) {
      const double e = scores[i];
      const double small = is_masked(e) ? 0.0 : std::log1p(std::exp(-std::abs(e)));
      take(i, is_masked(e) ? 0.0 : std::exp(std::min(e, 0.0) - small - broken_off));
      broken_off += std::max(e, 0.0) + small;
    }
    return broken_off;
  }

  bool keeps_shares_;
  std::vector<double> newer_;  // [share]: -ln of what newer shares leave, if shares are kept
};

}  // namespace

std::unique_ptr<SplitRow> pointwise_row(const Rule& rule, std::int64_t n) {
  return std::make_unique<PointwiseRow>(rule, n);
}
std::unique_ptr<SplitRow> stick_row(bool keeps_shares) { return std::make_unique<StickRow>(keeps_shares); }

}  // namespace sharpmax
