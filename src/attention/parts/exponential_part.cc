// exp(beta e) over its sum: one round if beta is known, two if a survey of the row chooses it.
#include <cmath>

#include "attention/parts/share_sums.h"

namespace sharpmax {
namespace {

// Numbers of a part: the survey of beta * score.
Survey survey_in(const SharePart& part) { return {part.numbers[0], part.numbers[1], part.numbers[2]}; }

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
    numbers = {rule_.beta * top, (sums.ties - 1.0) + sums.sum, rule_.beta * sums.moment};
    return !surveying_;
  }

  void merge(SharePart& into, const SharePart& from) const override {
    if (std::isnan(survey_in(into).max)) return;
    if (std::isnan(survey_in(from).max)) {
      into = from;
      return;
    }
    const Survey a = survey_in(into), b = survey_in(from), joined = sharpmax::merge(a, b);
    if (!joined.empty()) add_sums(into, kept(a.max, joined.max), from, kept(b.max, joined.max));
    into.numbers = {joined.max, joined.tail, joined.moment};
  }

  void resolve(const SharePart& whole) override {
    const Survey survey = survey_in(whole);
    if (!std::isfinite(survey.max)) return finish_without_keys(survey.max);
    if (surveying_) {
      surveying_ = false;
      rule_.beta = rule_.temperature(HeadParameters(normalizer_->parameters(), head_), survey);
      return;
    }
    const double keys = 1.0 + survey.tail;
    const double sink = rule_.sink == 0.0 ? 0.0 : rule_.sink * std::exp(-survey.max);
    finish({.scale = 1.0 / (keys + sink),
            .mass = sink == 0.0 ? 1.0 : keys / (keys + sink),
            .entropy = survey.entropy(),
            .peak_weight = survey.peak_weight(),
            .facts = {.temperature = rule_.beta, .log_partition = survey.log_partition()},
            .sum = whole.sum});
  }

 private:
  Rule rule_;
  const AnyNormalizer* normalizer_ = nullptr;
  std::size_t head_ = 0;
  bool surveying_ = false;
};

}  // namespace

std::unique_ptr<SplitRow> exponential_row(const Rule& rule) { return std::make_unique<ExponentialRow>(rule); }
std::unique_ptr<SplitRow> surveyed_row(const Rule& rule, const AnyNormalizer& normalizer, std::size_t head) {
  return std::make_unique<ExponentialRow>(rule, normalizer, head);
}

}  // namespace sharpmax
