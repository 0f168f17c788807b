// exp(beta e) over its sum: one round if beta is known, two if a survey of the row chooses it.
#include <algorithm>
#include <cmath>

#include "attention/parts/share_sums.h"

namespace sharpmax {
namespace {

// The weight that the sum of one part keeps when the largest of both is `max`.
double kept(double own, double max) { return std::isinf(own) ? 0.0 : std::exp(own - max); }

class ExponentialRow final : public SplitRow {
 public:
  explicit ExponentialRow(const Rule& rule) : rule_(rule) {}
  ExponentialRow(const Rule& rule, const AnyNormalizer& normalizer, std::size_t head)
      : rule_(rule), normalizer_(&normalizer), head_(head), surveying_(true) {
    rule_.beta = 1.0;
  }

  bool visit(const ShareScores& share, std::span<float> weights, std::vector<double>& numbers) const override {
    const double top = largest_score(share.scores);
    numbers = {top, 0.0, 0.0};
    if (!std::isfinite(top)) return false;
    weigh_gaps(share.scores, top, rule_.beta, weights);
    const GapSums sums = gap_sums(share.scores, top, weights);
    numbers = {top, (sums.ties - 1.0) + sums.sum, rule_.beta * sums.moment};
    return !surveying_;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    if (std::isnan(into.numbers[0])) return;
    if (std::isnan(from.numbers[0])) {
      into = from;
      return;
    }
    const Survey a = survey_in(into), b = survey_in(from), joined = sharpmax::merge(a, b);
    if (!joined.empty()) add_sums(into, kept(a.max, joined.max), from, kept(b.max, joined.max));
    into.numbers = {std::max(into.numbers[0], from.numbers[0]), joined.tail, joined.moment};
  }

  void resolve(const SharePart& whole) override {
    const double top = whole.numbers[0];
    if (!std::isfinite(top)) return finish_without_keys(top);
    const Survey survey = survey_in(whole);
    if (surveying_) {
      surveying_ = false;
      plain_ = survey;
      rule_.beta = rule_.temperature(HeadParameters(normalizer_->parameters(), head_), survey);
      return;
    }
    const double keys = 1.0 + survey.tail;
    const double sink = rule_.sink == 0.0 ? 0.0 : rule_.sink * std::exp(-survey.max);
    finish({.scale = 1.0 / (keys + sink),
            .top = top,
            .mass = sink == 0.0 ? 1.0 : keys / (keys + sink),
            .entropy = survey.entropy(),
            .peak_weight = survey.peak_weight(),
            .facts = {.temperature = rule_.beta, .log_partition = survey.log_partition()},
            .plain = plain_,
            .sum = whole.sum});
  }

 protected:
  void weigh_again(const ShareScores& share, std::span<double> weights) const override {
    const double top = outcome().top, scale = outcome().scale;
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = std::isinf(share.scores[i]) ? 0.0 : scale * std::exp(rule_.beta * (share.scores[i] - top));
  }

 private:
  // Numbers of a part: its largest score, and tail and moment of beta * score.
  Survey survey_in(const SharePart& part) const {
    const double top = part.numbers[0];
    return {std::isinf(top) ? top : rule_.beta * top, part.numbers[1], part.numbers[2]};
  }

  Rule rule_;
  const AnyNormalizer* normalizer_ = nullptr;
  std::size_t head_ = 0;
  bool surveying_ = false;
  Survey plain_;
};

}  // namespace

std::unique_ptr<SplitRow> exponential_row(const Rule& rule) { return std::make_unique<ExponentialRow>(rule); }
std::unique_ptr<SplitRow> surveyed_row(const Rule& rule, const AnyNormalizer& normalizer, std::size_t head) {
  return std::make_unique<ExponentialRow>(rule, normalizer, head);
}

}  // namespace sharpmax
