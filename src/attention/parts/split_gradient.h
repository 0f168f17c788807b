// The backward of one split row: what its shares must know of each other before the gradients of their scores are local.
//
// Most rules know it from the output (the mean of d_weights under the weights is d_out . out); others measure a few sums
// in a round of their own. In the last round every share has the gradients of its scores, and leaves its part of the
// gradient of the query and of the rule's numbers. Parts merge along the share tree, as those of the forward do.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attention/parts/split_row.h"

namespace sharpmax {

// One share of a row that is done.
struct ShareGradient {
  ShareScores share;
  std::span<const double> weights;    // final_weights() of it
  std::span<const double> d_weights;  // 0 for masked keys
};

class SplitGradient : public InRounds {
 public:
  bool done() const noexcept final { return done_; }

  // True in the last round: then d_scores holds the gradients of the share's scores.
  bool visit(const ShareGradient& share, std::span<double> d_scores, std::vector<double>& numbers) const;
  void merge(SharePart& into, const SharePart& from) const final;
  void resolve(const SharePart& whole) final;

  // Of a row that is done: sums over all keys.
  const RuleGradient& d_rule() const noexcept { return d_rule_; }
  double d_scores_sum() const noexcept { return d_scores_sum_; }
  const std::vector<double>& d_query() const noexcept { return d_query_; }  // empty: zeros

 protected:
  explicit SplitGradient(bool measures) : measuring_(measures) {}

  // The round before the last, of a rule that has one. Numbers add unless merge_measured() says otherwise.
  virtual void measure(const ShareGradient&, std::vector<double>&) const {}
  virtual void merge_measured(std::vector<double>& into, const std::vector<double>& from) const;
  virtual void take_measured(const std::vector<double>&) {}
  // The last round. `d_rule` += what the share adds.
  virtual void differentiate(const ShareGradient& share, std::span<double> d_scores, RuleGradient& d_rule) const = 0;
  // What the whole row adds, once.
  virtual void complete(RuleGradient&) const {}

 private:
  bool measuring_, done_ = false;
  RuleGradient d_rule_;
  double d_scores_sum_ = 0.0;
  std::vector<double> d_query_;
};

// `row` is done, has kept its shares and outlives it; `mean` is d_out . out.
std::unique_ptr<SplitGradient> split_gradient(const AnyNormalizer& normalizer, std::size_t head, std::int64_t n,
                                              const SplitRow& row, double mean);

// One kind each; see split_gradient().
struct GradientOf {
  Rule rule;
  HeadParameters parameters;
  const SplitOutcome& outcome;
  double keys = 0.0;
  double mean = 0.0;  // d_out . out
};
std::unique_ptr<SplitGradient> exponential_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> target_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> surveyed_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> hard_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> threshold_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> pointwise_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> self_adjust_gradient(const GradientOf& of);
std::unique_ptr<SplitGradient> stick_gradient(const GradientOf& of);

}  // namespace sharpmax
