// How far a float row kernel may be from the double specification: bounds derived from the formulas.
//
// With eps = 2^-23 and x_j = beta (m - e_j), a weight of the exponential family is exp(-x_j) / sum. Forming
// the gap rounds once (relative eps/2, so x_j eps / 2 in the weight), exp errs by at most 2 ulp, sum and
// scale by a few roundings of partial sums of kFoldBlocks terms (of random sign, so about the root of that).
// kRoundings covers these; where a formula has its own exponent it comes on top.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "normalizer/definition.h"
#include "support/row.h"

namespace sharpmax::test {

inline constexpr double kFloatEpsilon = 0x1p-23;
inline constexpr double kRowRoundings = 16.0;
// Below this the kernels' weights are exactly 0.
inline constexpr double kLeastWeight = 0x1p-125;

// The temperature of a searched row may be sharper than the least by what moves entropy or tail by this
// fraction: their margin of 5e-7 and four times their tolerance of 5e-7, rounded up.
inline constexpr double kSearchTolerance = 3e-6;

struct ExactRow {
  Row scores, weights;  // weights NaN: poisoned
  RowFacts facts;
  Rule rule;
  double largest = -kInfinity;
  std::size_t keys = 0;

  ExactRow(const AnyNormalizer& normalizer, const Row& row) : scores(row), weights(row.size()) {
    facts = weigh_row(normalizer, 0, scores, weights);
    for (const double e : scores) {
      keys += e != -kInfinity;
      largest = std::max(largest, e);
    }
    if (keys > 0)
      rule =
          normalizer.definition().rule(HeadParameters(normalizer.parameters(), 0), static_cast<double>(keys));
  }
  bool empty() const { return keys == 0; }
  bool poisoned() const { return !weights.empty() && std::isnan(weights[0]); }
};

// How much beta may differ: kSearchTolerance over the slope of ln(value) at the exact temperature.
inline double temperature_slack(const ExactRow& row) {
  const bool entropy = row.rule.kind == RuleKind::entropy_target;
  if (!entropy && row.rule.kind != RuleKind::peak_target) return 0.0;
  const double beta = row.facts.temperature;
  if (!std::isfinite(beta) || beta == 1.0) return 0.0;
  double mean = 0.0, square = 0.0, tail = -1.0, value = 0.0;
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (row.weights[j] == 0.0) continue;
    const double gap = row.scores[j] - row.largest;
    mean += row.weights[j] * gap;
    square += row.weights[j] * gap * gap;
    tail += row.weights[j] == 0.0 ? 0.0 : std::exp(beta * gap);
    value -= row.weights[j] * std::log(row.weights[j]);
  }
  const double slope = entropy ? beta * (square - mean * mean) / value : -mean * (1.0 + tail) / tail;
  return kSearchTolerance / slope;
}

// The largest error each weight may have.
inline Row weight_bounds(const ExactRow& row) {
  const Rule& rule = row.rule;
  const double slack = temperature_slack(row);
  double mean_gap = 0.0, heaviest = 0.0;
  for (const double w : row.weights) heaviest = std::max(heaviest, std::abs(w));
  for (std::size_t j = 0; j < row.scores.size(); ++j)
    if (row.weights[j] > 0.0) mean_gap += row.weights[j] * (row.largest - row.scores[j]);
  Row bounds(row.scores.size());
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    const double e = row.scores[j], w = std::abs(row.weights[j]);
    if (e == -kInfinity) continue;
    double relative = kRowRoundings;
    const double beta_gap = w > 0.0 ? std::log(heaviest) - std::log(w) : 0.0;
    switch (rule.kind) {
      case RuleKind::threshold: {
        // [z - tau]+^p: z and tau are off by eps at most, which counts p times in the power.
        const double power = 1.0 / (rule.alpha - 1.0);
        const double root = std::pow(w, rule.alpha - 1.0);
        bounds[j] = std::pow(root + 4.0 * kFloatEpsilon, power) - w +
                    kFloatEpsilon * kRowRoundings * (1.0 + power) * w;
        continue;
      }
      case RuleKind::sigmoid:
        relative += std::abs(e) + std::abs(rule.offset);
        break;
      case RuleKind::surveyed:
        relative += 2.0 * beta_gap;
        break;  // the survey's entropy is off by a few eps
      case RuleKind::softpick:
      case RuleKind::self_adjust:
        relative += row.largest - e;
        break;
      case RuleKind::stick_breaking:
        relative += w > 0.0 ? std::abs(e) - 4.0 * std::log(w) : 0.0;
        break;
      case RuleKind::relu:
      case RuleKind::proportional:
      case RuleKind::hard:
        break;
      default:
        relative += beta_gap;
        break;
    }
    bounds[j] = kFloatEpsilon * relative * w + 2.0 * slack * std::abs(row.largest - e - mean_gap) * w +
                kLeastWeight * (1.0 + std::abs(e));
    // A key the kernel cuts to 0, or whose exponent the slack moves far.
    if (slack > 0.0) bounds[j] = std::min(bounds[j], w + kLeastWeight);
  }
  return bounds;
}

// What errors of the weights within their bounds can do to sums over the row.
struct StatisticBounds {
  double mass = 0.0, entropy = 0.0;
};
inline StatisticBounds statistic_bounds(const ExactRow& row, const Row& bounds) {
  StatisticBounds result;
  double mass = 0.0, entropy = 0.0;
  for (const double w : row.weights) mass += w;
  for (const double w : row.weights)
    if (w > mass * kLeastWeight) entropy -= w / mass * std::log(w / mass);
  for (std::size_t j = 0; j < bounds.size(); ++j) {
    result.mass += bounds[j];
    if (bounds[j] == 0.0) continue;
    const double p = std::max(row.weights[j] / mass, kLeastWeight);
    result.entropy += std::abs(std::log(p) + entropy) * bounds[j] / mass;  // dH = -sum (ln p + H) dp
  }
  result.mass += kFloatEpsilon * std::abs(mass);
  result.entropy += 4.0 * kFloatEpsilon * entropy;
  return result;
}

}  // namespace sharpmax::test
