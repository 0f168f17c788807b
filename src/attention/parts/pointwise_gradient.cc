// Gradients of rules that weigh each key by itself and at most divide by a sum, and of stick_breaking.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/parts/split_gradient.h"
#include "sharpmax/fold.h"

namespace sharpmax {
namespace {

bool is_hidden(double score) { return score == -std::numeric_limits<double>::infinity(); }

// sigma(x) = exp(-softplus(-x))
double logistic_of(double x) {
  const double small = std::exp(-std::abs(x));
  return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

// sigmoid, relu, softpick, proportional: nothing to measure.
class PointwiseGradient final : public SplitGradient {
 public:
  explicit PointwiseGradient(const GradientOf& of) : SplitGradient(false), of_(of) {}

 protected:
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient& d_rule) const override {
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      const double e = s.share.scores[i];
      d_scores[i] = is_hidden(e) ? 0.0 : slope_of(e, s.weights[i], s.d_weights[i]);
      d_rule.offset += d_scores[i];
    }
  }

 private:
  double slope_of(double e, double weight, double d_weight) const {
    switch (of_.rule.kind) {
      case RuleKind::sigmoid:
        return d_weight * weight * logistic_of(-(e + of_.rule.offset));
      case RuleKind::relu:
        return e > 0.0 ? d_weight * of_.outcome.scale : 0.0;
      case RuleKind::softpick: {
        if (e == 0.0) return 0.0;  // a kink: the subgradient between the two slopes
        const double slope = std::exp(e - std::max(of_.outcome.top, 0.0)) * of_.outcome.scale;
        return slope * (e > 0.0 ? d_weight - of_.mean : of_.mean);
      }
      default:
        return of_.outcome.scale * (d_weight - of_.mean);
    }
  }

  GradientOf of_;
};

// w = f(e) q with q the softmax and f the height of e in the row's range, whose ends move with the keys that hold them.
class SelfAdjustGradient final : public SplitGradient {
 public:
  explicit SelfAdjustGradient(const GradientOf& of)
      : SplitGradient(of.rule.target != 1.0),
        of_(of),
        plain_(of.rule.target == 1.0),
        slope_(plain_ ? 1.0 : of.outcome.width > 0.0 ? 1.0 / of.outcome.width : 0.0) {}

 protected:
  void measure(const ShareGradient& s, std::vector<double>& numbers) const override {
    numbers = {0.0, 0.0, kNowhere, kNowhere};
    for (std::size_t i = 0; i < s.weights.size(); ++i) {
      const double e = s.share.scores[i];
      if (is_hidden(e)) continue;
      const double key = static_cast<double>(s.share.first_key) + static_cast<double>(i);
      if (e == of_.outcome.low) numbers[kLowKey] = std::min(numbers[kLowKey], key);
      if (e == of_.outcome.top) numbers[kHighKey] = std::min(numbers[kHighKey], key);
      const double d_factor = soft(e) * s.d_weights[i], height = factor(e);
      numbers[kLow] += d_factor * (height - 1.0) * slope_;
      numbers[kHigh] -= d_factor * height * slope_;
    }
  }
  void merge_measured(std::vector<double>& into, const std::vector<double>& from) const override {
    into[kLow] += from[kLow];
    into[kHigh] += from[kHigh];
    into[kLowKey] = std::min(into[kLowKey], from[kLowKey]);
    into[kHighKey] = std::min(into[kHighKey], from[kHighKey]);
  }
  void take_measured(const std::vector<double>& n) override { ends_ = n; }

  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient&) const override {
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      const double e = s.share.scores[i];
      d_scores[i] = is_hidden(e) ? 0.0 : soft(e) * ((factor(e) + slope_) * s.d_weights[i] - of_.mean);
    }
    if (plain_) return;
    if (of_.outcome.low < 0.0) add_at(ends_[kLowKey], ends_[kLow], s, d_scores);
    if (of_.outcome.top > 0.0) add_at(ends_[kHighKey], ends_[kHigh], s, d_scores);
  }

 private:
  enum Number : std::size_t { kLow, kHigh, kLowKey, kHighKey };
  static constexpr double kNowhere = std::numeric_limits<double>::infinity();

  double soft(double e) const { return std::exp(e - of_.outcome.facts.log_partition); }
  double factor(double e) const { return plain_ ? e : (e - of_.outcome.low) * slope_; }
  static void add_at(double key, double value, const ShareGradient& s, std::span<double> d_scores) {
    const double place = key - static_cast<double>(s.share.first_key);
    if (place >= 0.0 && place < static_cast<double>(d_scores.size())) d_scores[static_cast<std::size_t>(place)] += value;
  }

  GradientOf of_;
  bool plain_;
  double slope_;
  std::vector<double> ends_;
};

// A key takes from all older ones: it must know the sum of w dw over them. Shares measure theirs.
class StickGradient final : public SplitGradient {
 public:
  StickGradient() : SplitGradient(true) {}

 protected:
  void measure(const ShareGradient& s, std::vector<double>& numbers) const override {
    numbers = {0.0};
    for (std::size_t i = 0; i < s.weights.size(); ++i) numbers[0] += own(s, i);
  }
  void merge_measured(std::vector<double>& into, const std::vector<double>& from) const override {
    into.insert(into.end(), from.begin(), from.end());
  }
  void take_measured(const std::vector<double>& n) override {
    older_.assign(n.size(), 0.0);
    for (std::size_t share = 1; share < n.size(); ++share) older_[share] = older_[share - 1] + n[share - 1];
  }
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient&) const override {
    double older = older_[static_cast<std::size_t>(s.share.first_key / kShareKeys)];
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      const double e = s.share.scores[i];
      d_scores[i] = is_hidden(e) ? 0.0 : own(s, i) * logistic_of(-e) - logistic_of(e) * older;
      older += own(s, i);
    }
  }

 private:
  static double own(const ShareGradient& s, std::size_t i) {
    return s.weights[i] == 0.0 ? 0.0 : s.weights[i] * s.d_weights[i];
  }

  std::vector<double> older_;  // [share]
};

}  // namespace

std::unique_ptr<SplitGradient> pointwise_gradient(const GradientOf& of) { return std::make_unique<PointwiseGradient>(of); }
std::unique_ptr<SplitGradient> self_adjust_gradient(const GradientOf& of) { return std::make_unique<SelfAdjustGradient>(of); }
std::unique_ptr<SplitGradient> stick_gradient(const GradientOf&) { return std::make_unique<StickGradient>(); }

}  // namespace sharpmax
