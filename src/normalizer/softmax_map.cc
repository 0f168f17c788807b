#include "normalizer/softmax_map.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace sharpmax {

double SharpenedSurvey::entropy() const noexcept { return std::log1p(tail) - moment / (1.0 + tail); }

double SharpenedSurvey::variance() const noexcept {
  const double mean = moment / (1.0 + tail);
  return std::max(0.0, square / (1.0 + tail) - mean * mean);
}

double heaviest_score(double beta, std::span<const double> scores) {
  return beta < 0.0 ? *std::min_element(scores.begin(), scores.end())
                    : *std::max_element(scores.begin(), scores.end());
}

SharpenedSurvey survey_at(double beta, std::span<const double> scores) {
  const double top = heaviest_score(beta, scores);
  CompensatedSum tail, moment, square;
  bool first_heaviest = true;
  for (const double e : scores) {
    if (first_heaviest && e == top) {
      first_heaviest = false;
      continue;
    }
    const double d = beta * (e - top);
    const double u = std::exp(d);
    if (u == 0.0) continue;  // d may be -inf, and 0 * -inf is not 0
    tail.add(u);
    moment.add(u * d);
    square.add(u * d * d);
  }
  return {.top = top, .tail = tail.value(), .moment = moment.value(), .square = square.value()};
}

RowFacts softmax_at(double beta, std::span<const double> scores, std::span<double> weights) {
  const SharpenedSurvey survey = survey_at(beta, scores);
  const double sum = 1.0 + survey.tail;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::exp(beta * (scores[j] - survey.top)) / sum;
  }
  return {.temperature = beta, .log_partition = beta * survey.top + std::log1p(survey.tail)};
}

RowFacts sharpest_limit(std::span<const double> scores, std::span<double> weights) {
  const double top = *std::max_element(scores.begin(), scores.end());
  const auto tied = std::count(scores.begin(), scores.end(), top);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = scores[j] == top ? 1.0 / static_cast<double>(tied) : 0.0;
  }
  return {.temperature = std::numeric_limits<double>::infinity()};
}

double softmax_backward(double beta, std::span<const double> scores, std::span<const double> weights,
                        std::span<const double> d_weights, std::span<double> d_scores) {
  CompensatedSum mean;
  for (std::size_t j = 0; j < scores.size(); ++j) mean.add(weights[j] * d_weights[j]);
  // The logits' gradients sum to zero, so beta's may be taken of e - top: no cancellation far from 0.
  const double top = heaviest_score(beta, scores);
  CompensatedSum d_beta;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double d_logit = weights[j] * (d_weights[j] - mean.value());
    d_scores[j] = beta * d_logit;
    d_beta.add(d_logit * (scores[j] - top));
  }
  return d_beta.value();
}

Rule exponential_rule(double beta) noexcept {
  return {.kind = beta < 0.0 ? RuleKind::specification : RuleKind::exponential, .beta = beta};
}

}  // namespace sharpmax
