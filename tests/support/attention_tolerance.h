// How far a float kernel may be from the oracle, and which rows it cannot be asked about.
//
// A kernel may err twice as much as plain float attention does (support/attention_plain.h), largest
// error against largest error, plus a floor for cases so small that the plain one is right by luck.
// The floor is eps times the sum of absolute values that the result is made of, times a few roundings
// each (kRoundings) and once more for every unit of the exponent beta * score, whose relative error eps
// becomes a relative error eps * |beta * score| of the weight.
//
// Some rules decide: top_k which keys are in, sparsemax where its support ends. Scores closer to such a
// decision than float can compute them may fall on either side; those rows are left out and counted.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/attention_plain.h"

namespace sharpmax::test {

inline constexpr double kFloatEps = 0x1p-23;
inline constexpr double kRoundings = 16.0;

// Sums of absolute values, each the largest over all elements.
struct Magnitudes {
  double out = 0, query = 0, key = 0, value = 0, bias = 0, parameters = 0;
  double exponent = 0;  // |beta * score|

  double floor_of(double magnitude) const { return kFloatEps * (kRoundings + 4.0 * exponent) * magnitude; }
};

enum class Decision {
  values,   // where the weights jump
  slopes,   // where their derivative jumps
  support,  // where a weight becomes 0
};

// The temperature of a target starts to move where the plain row just meets it. dH/de_k = -w_k (ln w_k + H), and
// the peak p moves by p (1 - p) with its own score and as much with all the others. A kernel may take a target
// by this fraction too low: rows/temperature_search-inl.h.
inline constexpr double kTargetSlack = 3e-6;
inline double gap_to_moving(const Rule& rule, const std::vector<double>& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0, moment = 0.0, slope = 0.0;
  for (const double e : scores) {
    sum += std::exp(e - top);
    moment += std::exp(e - top) * (e - top);
  }
  const double entropy = std::log(sum) - moment / sum, peak = 1.0 / sum;
  if (rule.kind == RuleKind::peak_target) {
    return (std::abs(peak - rule.target) - kTargetSlack * (1.0 - rule.target)) / (2.0 * peak * (1.0 - peak));
  }
  for (const double e : scores) slope += std::exp(e - top) / sum * std::abs(e - top - std::log(sum) + entropy);
  return (std::abs(entropy - rule.target) - kTargetSlack * rule.target) / slope;
}

// The least change of a score that could change the decision, over the unmasked keys of one row.
inline double decision_gap(const Rule& rule, Decision decision, const std::vector<double>& scores,
                           const std::vector<double>& weights) {
  const double none = std::numeric_limits<double>::infinity();
  std::vector<double> sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto step = [&](std::size_t after) {
    return after > 0 && after < sorted.size() ? sorted[after - 1] - sorted[after] : none;
  };
  double nearest_to_zero = none;
  for (const double e : scores) nearest_to_zero = std::min(nearest_to_zero, std::abs(e));
  if (decision == Decision::slopes && rule.full_gradient && rule.kind != RuleKind::surveyed) {
    return gap_to_moving(rule, scores);
  }
  switch (rule.kind) {
    case RuleKind::hard: return step(1);
    case RuleKind::top_k: return step(to_size(static_cast<std::int64_t>(rule.target)));
    case RuleKind::relu:
    case RuleKind::softpick: return decision == Decision::values ? none : nearest_to_zero;
    case RuleKind::self_adjust:
      return decision == Decision::values ? none
                                          : std::min({nearest_to_zero, step(1), step(sorted.size() - 1)});
    case RuleKind::threshold: {
      // Above alpha = 2 weights rise from 0 with an unbounded slope, above 1.5 slopes do.
      const double smooth = decision == Decision::values ? 2.0 : decision == Decision::slopes ? 1.5 : 0.0;
      if (rule.alpha <= smooth) return none;
      const double stretch = (rule.alpha - 1.0) * rule.beta;
      const std::size_t top = to_size(std::max_element(weights.begin(), weights.end()) - weights.begin());
      const double tau = stretch * scores[top] - std::pow(weights[top], rule.alpha - 1.0);
      double gap = none;
      for (const double e : scores) gap = std::min(gap, std::abs(stretch * e - tau) / stretch);
      return gap;
    }
    default: return none;
  }
}

// What float can be expected to get a row's scores right to: each of d roundings of a sum of products
// errs by u of it at random, so sqrt(d) of them add up; four standard deviations.
inline double score_error(const AttentionRequest& request, const RowIndex& at, const sharpmax::oracle::WeighedRow& row,
                          sharpmax::oracle::Scratch& scratch) {
  double largest = 0.0;
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (row.scores[j] == sharpmax::oracle::kMasked) continue;
    read_row(request.key, sharpmax::oracle::key_row(request, at, row.keys.begin, j), scratch.key);
    double sum = 0.0;
    for (std::size_t c = 0; c < scratch.key.size(); ++c) sum += std::abs(scratch.key[c] * scratch.query[c]);
    largest = std::max(largest, std::abs(scale_of(request)) * sum + std::abs(row.scores[j]));
  }
  const double roundings = 4.0 * std::sqrt(static_cast<double>(request.query.shape[3]));
  return roundings * 0.5 * kFloatEps * largest;
}

struct RowVerdict {
  RowIndex at;
  bool decided = true;          // for the purpose asked
  bool gaps_decided = true;     // no key within the score error of a gap
  double score_error = 0.0;
};

class ProblemSurvey {
 public:
  ProblemSurvey(const AttentionProblem& problem, const AnyNormalizer& normalizer, Decision decision,
                std::span<const double> gaps = {})
      : problem_(problem), request_(problem.request), normalizer_(normalizer), scratch_(request_),
        key_sums_(to_size(request_.key.shape[0] * request_.key.shape[1] * request_.key.shape[2])),
        value_sums_(key_sums_.size()),
        parameter_sums_(to_size(request_.query.shape[1])) {
    for_each_row(problem, [&](const RowIndex& at, KeyRange keys) { survey(at, keys, decision, gaps); });
    for (const double x : key_sums_) magnitudes.key = std::max(magnitudes.key, x);
    for (const double x : value_sums_) magnitudes.value = std::max(magnitudes.value, x);
    for (const double x : parameter_sums_) magnitudes.parameters = std::max(magnitudes.parameters, x);
  }

  Magnitudes magnitudes;
  std::vector<RowVerdict> rows;

  std::int64_t undecided() const {
    return std::count_if(rows.begin(), rows.end(), [](const RowVerdict& r) { return !r.decided; });
  }

 private:
  void survey(const RowIndex& at, KeyRange keys, Decision decision, std::span<const double> gaps) {
    const sharpmax::oracle::WeighedRow row = sharpmax::oracle::weigh(request_, normalizer_, at, keys, scratch_);
    RowVerdict verdict{.at = at};
    std::vector<double> scores, weights;
    for (std::size_t j = 0; j < row.scores.size(); ++j) {
      if (row.scores[j] == sharpmax::oracle::kMasked) continue;
      scores.push_back(row.scores[j]);
      weights.push_back(row.weights[j]);
    }
    if (!scores.empty()) {
      const HeadParameters parameters(normalizer_.parameters(), to_size(at.head));
      const Rule rule = normalizer_.definition().rule(parameters, static_cast<double>(scores.size()));
      verdict.score_error = score_error(request_, at, row, scratch_);
      verdict.decided = decision_gap(rule, decision, scores, weights) > 2.0 * verdict.score_error;
      verdict.gaps_decided = far_from_gaps(scores, gaps, 2.0 * verdict.score_error);
      measure(at, row);
    }
    rows.push_back(verdict);
  }

  static bool far_from_gaps(const std::vector<double>& scores, std::span<const double> gaps, double margin) {
    const double top = *std::max_element(scores.begin(), scores.end());
    for (const double e : scores) {
      for (const double gap : gaps) {
        if (std::abs(top - e - gap) <= margin) return false;
      }
    }
    return true;
  }

  void measure(const RowIndex& at, const sharpmax::oracle::WeighedRow& row) {
    const double beta = std::isfinite(row.facts.temperature) ? std::abs(row.facts.temperature) : 1.0;
    read_row(problem_.d_out().input(), at, scratch_.out);
    const std::size_t n = row.weights.size();
    std::vector<double> d_weights(n), products(n), d_scores(n);
    double out = 0.0, mass = 0.0, mean_product = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (row.scores[j] == sharpmax::oracle::kMasked) continue;
      const RowIndex key = sharpmax::oracle::key_row(request_, at, row.keys.begin, j);
      read_row(request_.value, key, scratch_.value);
      for (std::size_t c = 0; c < scratch_.value.size(); ++c) {
        d_weights[j] += scratch_.out[c] * scratch_.value[c];
        products[j] += std::abs(scratch_.out[c] * scratch_.value[c]);
      }
      const double w = std::abs(row.weights[j]);
      out += w * largest(scratch_.value);
      mass += w;
      mean_product += w * products[j];
      value_sums_[place(key)] += w * largest(scratch_.out);
      magnitudes.exponent = std::max(magnitudes.exponent, beta * std::abs(row.scores[j]));
    }
    magnitudes.out = std::max(magnitudes.out, out);
    if (mass > 0.0) mean_product /= mass;
    if (normalizer_.definition().backward == nullptr || !has_backward(at.head)) return;
    backward_row(normalizer_, to_size(at.head), row.scores, row.weights, d_weights, d_scores, {});
    const double scale = normalizer_.definition().needs_queries_and_keys ? 1.0 : std::abs(scale_of(request_));
    double query = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (row.scores[j] == sharpmax::oracle::kMasked) continue;
      const RowIndex key = sharpmax::oracle::key_row(request_, at, row.keys.begin, j);
      read_row(request_.key, key, scratch_.key);
      const double parts = std::abs(d_scores[j]) + beta * std::abs(row.weights[j]) * (products[j] + mean_product);
      const double through_cap = scale * scratch_.cap_slopes[j] * parts;
      query += through_cap * largest(scratch_.key);
      key_sums_[place(key)] += through_cap * largest(scratch_.query);
      magnitudes.bias += parts;
      // A parameter moves the exponent itself: its gradient has no factor beta.
      const double logits = std::abs(d_scores[j]) + std::abs(row.weights[j]) * (products[j] + mean_product);
      parameter_sums_[to_size(at.head)] += logits * (1.0 + std::abs(row.scores[j])) * (1.0 + std::log(n));
    }
    magnitudes.query = std::max(magnitudes.query, query);
  }

  bool has_backward(std::int64_t head) const {
    const auto reason = normalizer_.definition().no_backward;
    return reason == nullptr || reason(HeadParameters(normalizer_.parameters(), to_size(head))).empty();
  }
  static double largest(std::span<const double> row) {
    double most = 0.0;
    for (const double x : row) most = std::max(most, std::abs(x));
    return most;
  }
  std::size_t place(const RowIndex& key) const {
    return to_size((key.batch * request_.key.shape[1] + key.head) * request_.key.shape[2] + key.row);
  }

  const AttentionProblem& problem_;
  const AttentionRequest& request_;
  const AnyNormalizer& normalizer_;
  sharpmax::oracle::Scratch scratch_;
  std::vector<double> key_sums_, value_sums_, parameter_sums_;
};

}  // namespace sharpmax::test
