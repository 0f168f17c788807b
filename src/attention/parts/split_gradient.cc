#include "attention/parts/split_gradient.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sharpmax {
namespace {

// Numbers of a part in the last round.
constexpr std::size_t kGradientNumbers = 6;

// A row without keys has gradients of 0, a poisoned one NaN.
class BlankGradient final : public SplitGradient {
 public:
  explicit BlankGradient(double blank) : SplitGradient(false), blank_(blank) {}

 protected:
  void differentiate(const ShareGradient& share, std::span<double> d_scores, RuleGradient&) const override {
    for (std::size_t i = 0; i < d_scores.size(); ++i) d_scores[i] = std::isinf(share.share.scores[i]) ? 0.0 : blank_;
  }
  void complete(RuleGradient& d) const override { d = {blank_, blank_, blank_, blank_, blank_}; }

 private:
  double blank_;
};

}  // namespace

bool SplitGradient::visit(const ShareGradient& share, std::span<double> d_scores, std::vector<double>& numbers) const {
  if (measuring_) {
    measure(share, numbers);
    return false;
  }
  RuleGradient d;
  differentiate(share, d_scores, d);
  double sum = 0.0;
  for (const double d_score : d_scores) sum += d_score;
  numbers = {d.beta, d.sink, d.alpha, d.target, d.offset, sum};
  return true;
}

void SplitGradient::merge(SharePart& into, const SharePart& from) const {
  if (measuring_) return merge_measured(into.numbers, from.numbers);
  for (std::size_t i = 0; i < kGradientNumbers; ++i) into.numbers[i] += from.numbers[i];
  add_sums(into, 1.0, from, 1.0);
}

void SplitGradient::merge_measured(std::vector<double>& into, const std::vector<double>& from) const {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

void SplitGradient::resolve(const SharePart& whole) {
  const std::vector<double>& n = whole.numbers;
  if (measuring_) {
    measuring_ = false;
    return take_measured(n);
  }
  d_rule_ = {n[0], n[1], n[2], n[3], n[4]};
  d_scores_sum_ = n[5];
  complete(d_rule_);
  d_query_ = whole.sum;
  done_ = true;
}

std::unique_ptr<SplitGradient> split_gradient(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n,
                                              const SplitRow& row, double mean) {
  const SplitOutcome& outcome = row.outcome();
  if (!std::isfinite(outcome.top)) return std::make_unique<BlankGradient>(std::isnan(outcome.top) ? outcome.top : 0.0);
  const double keys = static_cast<double>(std::max<std::int64_t>(n, 1));
  const HeadParameters parameters(normalizer.parameters(), head);
  const GradientOf of{normalizer.definition().rule(parameters, keys), parameters, outcome, keys, mean};
  switch (of.rule.kind) {
    case RuleKind::exponential:
    case RuleKind::top_k:
      return exponential_gradient(of);
    case RuleKind::surveyed:
      return surveyed_gradient(of);
    case RuleKind::entropy_target:
    case RuleKind::peak_target:
      return target_gradient(of);
    case RuleKind::hard:
      return hard_gradient(of);
    case RuleKind::threshold:
      return threshold_gradient(of);
    case RuleKind::self_adjust:
      return self_adjust_gradient(of);
    case RuleKind::stick_breaking:
      return stick_gradient(of);
    case RuleKind::sigmoid:
    case RuleKind::relu:
    case RuleKind::softpick:
    case RuleKind::proportional:
    case RuleKind::specification:  // split_row() has refused it
      break;
  }
  return pointwise_gradient(of);
}

}  // namespace sharpmax
