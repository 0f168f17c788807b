// How far the gradient of a float row may be from the specification's.
//
// Every map has dS_j = s_j (dP_j - D) with D a mean of dP under weights t: errors of s and t within the
// bounds of support/row_bounds.h give the bound of dS. With A = max |dP|: |dP_j - D| <= 2 A.
//
// Where a target moves the temperature (rows/backward_exponential-inl.h) there is a second part, made of
// t = beta (e - m): L (t_j - mean t) or r. C, V and mean t are sums over the weights; their errors are
// those of the weights and of beta, within the bounds that row_bounds.h has for both.
#pragma once

#include <algorithm>
#include <cmath>

#include "support/row_bounds.h"

namespace sharpmax::test {

struct Slopes {
  Row s, s_error;           // beta not counted
  double mean_error = 0.0;  // of D / A
};

inline Slopes threshold_slopes(const ExactRow& row) {
  Slopes result{Row(row.weights.size()), Row(row.weights.size()), 0.0};
  const double power = (2.0 - row.rule.alpha) / (row.rule.alpha - 1.0);
  double sum = 0.0, error = 0.0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double root = std::pow(row.weights[j], row.rule.alpha - 1.0), reach = 4.0 * kFloatEpsilon;
    result.s[j] = row.weights[j] > 0.0 ? std::pow(root, power) : 0.0;
    if (row.weights[j] == 0.0 && row.scores[j] == -kInfinity) continue;
    const double above = power == 0.0 ? result.s[j] : std::pow(root + reach, power);
    const double below = power == 0.0 ? result.s[j] : std::pow(std::max(root - reach, 0.0), power);
    const bool out_of_reach =
        row.weights[j] == 0.0 &&
        (row.rule.alpha - 1.0) * row.rule.beta * row.scores[j] - row.facts.threshold < -reach;
    result.s_error[j] =
        out_of_reach ? 0.0 : above - below + kFloatEpsilon * kRowRoundings * (1.0 + power) * result.s[j];
    sum += result.s[j];
    error += result.s_error[j];
  }
  result.mean_error = 2.0 * error / sum;
  return result;
}

inline Slopes slopes_of(const ExactRow& row, const Row& weight_error) {
  if (row.rule.kind == RuleKind::threshold) return threshold_slopes(row);
  Slopes result{row.weights, weight_error, 0.0};
  double error = 0.0, sum = 0.0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    error += weight_error[j];
    sum += row.scores[j] == -kInfinity ? 0.0 : row.scores[j];
  }
  result.mean_error = error + kRowRoundings * kFloatEpsilon;
  Row soft(row.scores.size());
  weigh_row(Softmax{}, 0, row.scores, soft);
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double e = row.scores[j], gap = row.largest - e;
    if (e == -kInfinity) {
      result.s[j] = result.s_error[j] = 0.0;
      continue;
    }
    double relative = kRowRoundings;
    switch (row.rule.kind) {
      case RuleKind::hard:
        result.s[j] = soft[j];
        relative += gap;
        break;
      case RuleKind::relu:
        result.s[j] = 1.0 / static_cast<double>(row.keys);
        break;
      case RuleKind::proportional:
        result.s[j] = 1.0 / sum;
        break;
      case RuleKind::softpick: {  // exp(e - shift) over its own sum, of which the largest has the most
        const double shift = std::max(row.largest, 0.0);
        double whole = 0.0;
        for (const double x : row.scores)
          whole += x == -kInfinity ? 0.0 : std::abs(std::expm1(x)) * std::exp(-shift);
        result.s[j] = whole > 0.0 ? std::exp(e - shift) / whole : 0.0;
        relative += std::abs(e - shift);
        break;
      }
      case RuleKind::stick_breaking:
        result.s[j] = 1.0 / (1.0 + std::exp(-e));
        relative += std::abs(e);
        break;
      default:
        result.s_error[j] += kRowRoundings * kFloatEpsilon * std::abs(result.s[j]);
        continue;
    }
    result.s_error[j] = kFloatEpsilon * relative * result.s[j] + weight_error[j] + kLeastWeight;
  }
  return result;
}

// sparsemax's slopes jump where its support ends, a moving temperature's where it leaves 1: rows nearer to
// that than float can tell.
inline bool undecided(const ExactRow& row) {
  if (row.rule.full_gradient && row.rule.kind != RuleKind::surveyed) {
    Row plain(row.scores.size());
    weigh_row(Softmax{}, 0, row.scores, plain);
    double entropy = 0.0, peak = 0.0;
    for (const double w : plain) {
      entropy -= w > 0.0 ? w * std::log(w) : 0.0;
      peak = std::max(peak, w);
    }
    const double target = row.rule.target;
    const double ratio = row.rule.kind == RuleKind::entropy_target
                             ? entropy / target
                             : (1.0 - peak) / peak / ((1.0 - target) / target);
    return std::abs(ratio - 1.0) < 2.0 * kSearchTolerance;
  }
  if (row.rule.kind != RuleKind::threshold || row.rule.alpha != 2.0) return false;
  for (const double e : row.scores)
    if (std::abs(row.rule.beta * e - row.facts.threshold) <
        16.0 * kFloatEpsilon * (1.0 + std::abs(row.rule.beta * e)))
      return true;
  return false;
}

// The part of a moving temperature: what it adds to the bound of each dS, and the bound of d target.
struct LeanBounds {
  Row d_scores;
  double target = 0.0;
};
inline LeanBounds lean_bounds(const ExactRow& row, const Row& weight_error, const Row& d_weights,
                              double most) {
  const std::size_t n = row.scores.size();
  LeanBounds bounds{Row(n)};
  const double beta = row.facts.temperature, slip = temperature_slack(row) / beta;
  if (!row.rule.full_gradient || row.rule.kind == RuleKind::surveyed || !(beta > 1.0) || std::isinf(beta))
    return bounds;
  const double eps = kRowRoundings * kFloatEpsilon;
  const auto t_of = [&](std::size_t j) {
    return row.weights[j] > 0.0 ? beta * (row.scores[j] - row.largest) : 0.0;
  };
  double mean = 0.0, mean_t = 0.0, mean_error = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    mean += row.weights[j] == 0.0 ? 0.0 : row.weights[j] * d_weights[j];
    mean_t += row.weights[j] * t_of(j);
    mean_error += (weight_error[j] + (slip + eps) * row.weights[j]) * std::abs(t_of(j));
  }
  double covariance = 0.0, variance = 0.0, c_error = 0.0, v_error = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    const double w = row.weights[j], t = t_of(j) - mean_t;
    if (w == 0.0) continue;
    covariance += w * (d_weights[j] - mean) * t;
    variance += w * t * t;
    // Rounded, t is off by eps of itself, not of its distance to the mean.
    c_error +=
        2.0 * most *
        (weight_error[j] * std::abs(t) + w * (slip * std::abs(t) + eps * (std::abs(t) + std::abs(mean_t))));
    v_error += weight_error[j] * t * t +
               w * std::abs(t) * (2.0 * slip * std::abs(t) + eps * (std::abs(t) + std::abs(mean_t)));
  }
  const bool entropy = row.rule.kind == RuleKind::entropy_target;
  const double divisor = entropy ? variance : -mean_t, divisor_error = entropy ? v_error : mean_error;
  const double lean = covariance / divisor;
  const double lean_error = (c_error + std::abs(lean) * divisor_error) / divisor;
  bounds.target = lean_error / (entropy ? 1.0 : row.rule.target);
  for (std::size_t j = 0; j < n; ++j) {
    const double w = row.weights[j], t = t_of(j);
    if (row.scores[j] == -kInfinity) continue;
    const bool peak = row.scores[j] == row.largest;
    const double reach = entropy ? std::abs(t - mean_t) : 1.0;
    const double reach_error = entropy ? mean_error + (slip + eps) * std::abs(t) : 0.0;
    const double share = entropy ? w : w + (peak ? 1.0 : 0.0);
    bounds.d_scores[j] =
        beta * (share * (lean_error * reach + std::abs(lean) * (reach_error + (slip + eps) * reach)) +
                weight_error[j] * std::abs(lean) * reach);
  }
  return bounds;
}

}  // namespace sharpmax::test
