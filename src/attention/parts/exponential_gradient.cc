// Gradients of exp(beta e) over its sum, of hard, and of threshold maps.
//
// With D the mean of dP under the weights, dS = beta p (dP - D). A temperature that depends on the scores, and whose
// gradient is not stopped, moves with them: its share of dS needs a few moments of t = beta (e - top), measured first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/parts/split_gradient.h"
#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

class ExponentialGradient : public SplitGradient {
 public:
  explicit ExponentialGradient(const GradientOf& of, bool measures = false)
      : SplitGradient(measures), of_(of), beta_(of.outcome.facts.temperature) {}

 protected:
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient& d_rule) const override {
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      const double weight = s.weights[i];
      d_scores[i] = 0.0;
      if (weight == 0.0 || std::isinf(beta_)) continue;  // weights of an unreachable target are constants
      const double d_logit = weight * (s.d_weights[i] - of_.mean);
      d_scores[i] = beta_ * d_logit;
      d_rule.beta += d_logit * gap(s, i);
    }
  }

  // d w_j / d c = -w_j / (c + sum exp e)
  void complete(RuleGradient& d_rule) const override {
    if (of_.mean != 0.0) d_rule.sink = -of_.mean * of_.outcome.scale * std::exp(-of_.outcome.top);
  }

  double gap(const ShareGradient& s, std::size_t i) const { return s.share.scores[i] - of_.outcome.top; }

  GradientOf of_;
  double beta_;
};

// beta by the entropy at beta = 1, H: d H / d e_k = -q_k (ln q_k + H) with q the plain softmax.
class SurveyedGradient final : public ExponentialGradient {
 public:
  explicit SurveyedGradient(const GradientOf& of) : ExponentialGradient(of, true) {}

 protected:
  void measure(const ShareGradient& s, std::vector<double>& numbers) const override {
    numbers = {0.0, 0.0};  // of p gap dP, of p gap
    for (std::size_t i = 0; i < s.weights.size(); ++i) {
      if (s.weights[i] == 0.0) continue;
      const double weighted = s.weights[i] * gap(s, i);
      numbers[0] += weighted * s.d_weights[i];
      numbers[1] += weighted;
    }
  }
  void take_measured(const std::vector<double>& n) override {
    const double entropy = of_.outcome.plain.entropy();
    lean_ = (n[0] - of_.mean * n[1]) * adaptive_slope(of_.parameters, entropy);
  }
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient& d_rule) const override {
    ExponentialGradient::differentiate(s, d_scores, d_rule);
    if (lean_ == 0.0) return;
    const double entropy = of_.outcome.plain.entropy(), log_sum = std::log1p(of_.outcome.plain.tail);
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      if (std::isinf(s.share.scores[i])) continue;
      const double log_weight = gap(s, i) - log_sum;
      d_scores[i] -= lean_ * std::exp(log_weight) * (log_weight + entropy);
    }
  }

 private:
  double lean_ = 0.0;
};

// beta by a target. With C = cov(dP, t), V = var(t):
//   entropy  dS_k = beta p_k ((dP_k - D) - C / V (t_k - mean t)),      by the target: -C / V
//   peak     dS_k = beta (p_k (dP_k - D + r) - r [k is the peak]), r = -C / mean t, by the target: r / target
class TargetGradient final : public ExponentialGradient {
 public:
  explicit TargetGradient(const GradientOf& of) : ExponentialGradient(of, true) {}

 protected:
  void measure(const ShareGradient& s, std::vector<double>& numbers) const override {
    numbers = {0.0, 0.0, 0.0, kNoPeakKey};
    for (std::size_t i = 0; i < s.weights.size(); ++i) {
      if (s.weights[i] == 0.0) continue;
      if (s.share.scores[i] == of_.outcome.top)
        numbers[kPeakKey] = std::min(numbers[kPeakKey], static_cast<double>(s.share.first_key) + static_cast<double>(i));
      const double t = beta_ * gap(s, i), weighted = s.weights[i] * t;
      numbers[kMean] += weighted;
      numbers[kSquare] += weighted * t;
      numbers[kProduct] += weighted * s.d_weights[i];
    }
  }
  void merge_measured(std::vector<double>& into, const std::vector<double>& from) const override {
    const double peak = std::min(into[kPeakKey], from[kPeakKey]);
    SplitGradient::merge_measured(into, from);
    into[kPeakKey] = peak;
  }
  void take_measured(const std::vector<double>& n) override {
    mean_t_ = n[kMean];
    peak_ = n[kPeakKey];
    const double covariance = n[kProduct] - of_.mean * mean_t_, variance = n[kSquare] - mean_t_ * mean_t_;
    if (of_.rule.kind == RuleKind::entropy_target)
      lean_ = variance > 0.0 ? covariance / variance : 0.0;
    else
      lean_ = mean_t_ < 0.0 ? -covariance / mean_t_ : 0.0;
  }
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient& d_rule) const override {
    ExponentialGradient::differentiate(s, d_scores, d_rule);
    const bool entropy = of_.rule.kind == RuleKind::entropy_target;
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      const double weighted = beta_ * s.weights[i];
      if (weighted == 0.0) continue;
      d_scores[i] += entropy ? -weighted * lean_ * (beta_ * gap(s, i) - mean_t_) : weighted * lean_;
    }
    const double place = peak_ - static_cast<double>(s.share.first_key);
    if (!entropy && place >= 0.0 && place < static_cast<double>(d_scores.size()))
      d_scores[static_cast<std::size_t>(place)] -= beta_ * lean_;
  }
  void complete(RuleGradient& d_rule) const override {
    d_rule.target = of_.rule.kind == RuleKind::entropy_target ? -lean_ : lean_ / of_.rule.target;
  }

 private:
  enum Number : std::size_t { kMean, kSquare, kProduct, kPeakKey };
  static constexpr double kNoPeakKey = std::numeric_limits<double>::infinity();

  double mean_t_ = 0.0, lean_ = 0.0, peak_ = kNoPeakKey;
};

// The gradient of softmax, straight through.
class HardGradient final : public SplitGradient {
 public:
  explicit HardGradient(const GradientOf& of) : SplitGradient(true), top_(of.outcome.top) {}

 protected:
  void measure(const ShareGradient& s, std::vector<double>& numbers) const override {
    numbers = {0.0, 0.0};  // of exp(e - top), and of it times dP
    for (std::size_t i = 0; i < s.weights.size(); ++i) {
      const double soft = std::exp(s.share.scores[i] - top_);
      numbers[0] += soft;
      numbers[1] += soft * s.d_weights[i];
    }
  }
  void take_measured(const std::vector<double>& n) override {
    scale_ = 1.0 / n[0];
    mean_ = n[1] / n[0];
  }
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient&) const override {
    for (std::size_t i = 0; i < d_scores.size(); ++i)
      d_scores[i] = scale_ * std::exp(s.share.scores[i] - top_) * (s.d_weights[i] - mean_);
  }

 private:
  double top_, scale_ = 0.0, mean_ = 0.0;
};

// p = [z - tau]+^(1 / (alpha - 1)): dS = beta w (dP - D), w = p^(2 - alpha), D the mean of dP under w.
class ThresholdGradient final : public SplitGradient {
 public:
  explicit ThresholdGradient(const GradientOf& of) : SplitGradient(true), of_(of) {}

 protected:
  void measure(const ShareGradient& s, std::vector<double>& numbers) const override {
    numbers = {0.0, 0.0};
    for (std::size_t i = 0; i < s.weights.size(); ++i) {
      const double slope = slope_of(s.weights[i]);
      if (slope == 0.0) continue;
      numbers[0] += slope;
      numbers[1] += slope * s.d_weights[i];
    }
  }
  void take_measured(const std::vector<double>& n) override { mean_ = n[1] / n[0]; }
  void differentiate(const ShareGradient& s, std::span<double> d_scores, RuleGradient& d_rule) const override {
    for (std::size_t i = 0; i < d_scores.size(); ++i) {
      const double slope = slope_of(s.weights[i]);
      d_scores[i] = 0.0;
      if (slope == 0.0) continue;
      const double centered = s.d_weights[i] - mean_;
      d_scores[i] = of_.rule.beta * slope * centered;
      d_rule.beta += slope * centered * (s.share.scores[i] - of_.outcome.top);
      d_rule.alpha -= entmax_bend(of_.rule.alpha, s.weights[i]) * centered;
    }
  }

 private:
  double slope_of(double weight) const {
    if (!(weight > 0.0)) return 0.0;
    if (of_.rule.alpha == 2.0) return 1.0;
    return of_.rule.alpha == 1.5 ? std::sqrt(weight) : std::pow(weight, 2.0 - of_.rule.alpha);
  }

  GradientOf of_;
  double mean_ = 0.0;
};

}  // namespace

std::unique_ptr<SplitGradient> exponential_gradient(const GradientOf& of) { return std::make_unique<ExponentialGradient>(of); }

std::unique_ptr<SplitGradient> surveyed_gradient(const GradientOf& of) {
  const bool moves = of.rule.full_gradient && adaptive_slope(of.parameters, of.outcome.plain.entropy()) != 0.0;
  return moves ? std::make_unique<SurveyedGradient>(of) : exponential_gradient(of);
}

// Rows sharp enough at beta = 1, and those whose keys all tie, have a temperature that does not move.
std::unique_ptr<SplitGradient> target_gradient(const GradientOf& of) {
  const double beta = of.outcome.facts.temperature;
  const bool moves = of.rule.full_gradient && beta != 1.0 && std::isfinite(beta);
  return moves ? std::make_unique<TargetGradient>(of) : exponential_gradient(of);
}

std::unique_ptr<SplitGradient> hard_gradient(const GradientOf& of) { return std::make_unique<HardGradient>(of); }
std::unique_ptr<SplitGradient> threshold_gradient(const GradientOf& of) { return std::make_unique<ThresholdGradient>(of); }

}  // namespace sharpmax
