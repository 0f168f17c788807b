// Softmax in double, and alpha-entmax for any alpha in [1, 16]: a bracketed root of sum p = 1, and its gradient.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/numbers.h"
#include "normalizer/softmax_map.h"

namespace sharpmax {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
// Below this alpha float kernels lose more than six bits to the power 1 / (alpha - 1).
constexpr double kLeastKernelAlpha = 1.0 + 1.0 / 64.0;

double weight_at(double a, double gap, double minus_log_peak) noexcept {
  const double u = a * gap * std::exp(a * minus_log_peak);
  return u < 1.0 ? std::exp(std::log1p(-u) / a - minus_log_peak) : 0.0;
}

struct Mass {
  double sum = 0.0;
  double slope = 0.0;  // d sum / dL = -sum of p / (1 - u)
};

Mass mass_at(double a, std::span<const double> gaps, double minus_log_peak) noexcept {
  const double stretch = std::exp(a * minus_log_peak);
  CompensatedSum sum, slope;
  for (const double gap : gaps) {
    const double u = a * gap * stretch;
    if (!(u < 1.0)) continue;
    const double p = std::exp(std::log1p(-u) / a - minus_log_peak);
    sum.add(p);
    slope.add(-p / (1.0 - u));
  }
  return {sum.value(), slope.value()};
}

// Neighbouring doubles L with sum(low) >= 1 >= sum(high), as far as double can resolve.
struct Bracket {
  double low = 0.0, high = 0.0;
  double sum_low = 0.0, sum_high = 0.0;
};

// Newton on ln sum(L): straight for softmax, and from L = 0 monotone for alpha <= 2, where sum is convex
// in tau. Above 2 it is not, and bisection takes over where Newton leaves the bracket or stalls.
Bracket solve(double a, std::span<const double> gaps) {
  Bracket bracket{.low = 0.0, .high = std::log(static_cast<double>(gaps.size()))};
  bracket.high += 4.0 * kEps * bracket.high;
  Mass mass = mass_at(a, gaps, bracket.low);
  bracket.sum_low = mass.sum;
  bracket.sum_high = mass_at(a, gaps, bracket.high).sum;
  double from = bracket.low;
  int stalled = 0;
  while (bracket.sum_low > 1.0 && bracket.sum_high < 1.0) {
    const double width = bracket.high - bracket.low;
    if (width <= 2.0 * kEps * bracket.high) break;
    double step = -std::log(mass.sum) * mass.sum / mass.slope;
    if (std::abs(step) < 1e-2) step *= 1.0 + 1e-3;  // both ends close in: see softmax_map.h
    double next = from + step;
    if (stalled >= 2 || !(next > bracket.low && next < bracket.high)) {
      next = bracket.low + 0.5 * width;
      stalled = 0;
      if (!(next > bracket.low && next < bracket.high)) break;
    }
    from = next;
    mass = mass_at(a, gaps, next);
    (mass.sum >= 1.0 ? bracket.low : bracket.high) = next;
    (mass.sum >= 1.0 ? bracket.sum_low : bracket.sum_high) = mass.sum;
    stalled = bracket.high - bracket.low > 0.5 * width ? stalled + 1 : 0;
  }
  return bracket;
}

// (exp(-x) - 1 + x) / x^2 for x <= 0, which tends to 1/2: the part of p^(1 - alpha) beyond first order.
double second_order(double x) noexcept {
  if (x > -0.5) {  // the series converges faster than the formula cancels
    double term = 0.5, sum = 0.0;
    for (int k = 3; std::abs(term) > kEps * sum; ++k) {
      sum += term;
      term *= -x / k;
    }
    return sum;
  }
  return (std::expm1(-x) + x) / (x * x);
}

}  // namespace

RowFacts entmax_weigh(double alpha, double beta, std::span<const double> scores, std::span<double> weights) {
  const double a = alpha - 1.0;
  if (a == 0.0) return softmax_at(beta, scores, weights);
  const double top = heaviest_score(beta, scores);
  std::vector<double> gaps;
  for (const double e : scores) {
    const double gap = beta * (top - e);
    if (a * gap < 1.0) gaps.push_back(gap);
  }
  const Bracket bracket = solve(a, gaps);
  // For steep maps neighbouring doubles L may still differ in sum: between them the weights are those
  // that sum to one. Near the edge of the support this finds digits that no formula in L can.
  const double spread = bracket.sum_low - bracket.sum_high;
  const double lean = spread > 0.0 ? std::clamp((1.0 - bracket.sum_high) / spread, 0.0, 1.0) : 0.0;
  CompensatedSum sum;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double gap = beta * (top - scores[j]);
    weights[j] = 0.0;
    if (!(a * gap < 1.0)) continue;
    if (lean > 0.0) weights[j] += lean * weight_at(a, gap, bracket.low);
    if (lean < 1.0) weights[j] += (1.0 - lean) * weight_at(a, gap, bracket.high);
    sum.add(weights[j]);
  }
  for (double& w : weights) w /= sum.value();
  const double minus_log_peak = lean * bracket.low + (1.0 - lean) * bracket.high;
  return {.temperature = beta, .threshold = a * beta * top - std::exp(-a * minus_log_peak)};
}

double entmax_bend(double alpha, double p) {
  if (!(p > 0.0)) return 0.0;
  const double log_p = std::log(p);
  return p * log_p * log_p * second_order((alpha - 1.0) * log_p);
}

// Every threshold map p = phi(z - tau) has the gradient d z_j = w_j (dp_j - D), w = phi' = p^(2 - alpha)
// on the support, D = sum w dp / sum w. By alpha, with l = ln p and `second_order` written s:
//   dp_j/dalpha = w_j / sum w * K - p_j l_j^2 s(a l_j),   K = sum p l^2 s(a l)
// This is the derivative of Correia, Niculae and Martins (2019) with its two cancelling terms of order
// 1/a^2 and 1/a taken out: at alpha = 1 it is their limit, with no case of its own.
EntmaxGradient entmax_backward(double alpha, double beta, std::span<const double> scores,
                               std::span<const double> weights, std::span<const double> d_weights,
                               std::span<double> d_scores) {
  const double a = alpha - 1.0;
  const auto slope_of = [&](double p) { return p > 0.0 ? std::pow(p, 1.0 - a) : 0.0; };
  CompensatedSum slopes, slope_mean, bends, bend_mean;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double slope = slope_of(weights[j]), bend = entmax_bend(alpha, weights[j]);
    slopes.add(slope);
    slope_mean.add(slope * d_weights[j]);
    bends.add(bend);
    bend_mean.add(bend * d_weights[j]);
  }
  const double mean = slope_mean.value() / slopes.value();
  const double top = heaviest_score(beta, scores);
  CompensatedSum d_beta;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double d_logit = slope_of(weights[j]) * (d_weights[j] - mean);
    d_scores[j] = beta * d_logit;
    d_beta.add(d_logit * (scores[j] - top));
  }
  return {.alpha = mean * bends.value() - bend_mean.value(), .beta = d_beta.value()};
}

Rule threshold_rule(double alpha, double beta) noexcept {
  if (alpha == 1.0) return exponential_rule(beta);
  const bool slow = beta < 0.0 || alpha < kLeastKernelAlpha;
  return {.kind = slow ? RuleKind::specification : RuleKind::threshold, .beta = beta, .alpha = alpha};
}

// Sparsemax and 1.5-entmax in closed form over the sorted candidates.
//
// The textbook recursion over raw sums of squares cancels on long rows. Here scores are shifted by the
// maximum, only keys that can have weight are sorted, running moments are Welford's, and once the
// support is known its threshold is computed afresh from compensated sums.

namespace {

// (alpha - 1)(e - max) of the keys within reach, largest first.
std::vector<double> sorted_candidates(double a, double top, std::span<const double> scores) {
  std::vector<double> candidates;
  for (const double e : scores) {
    const double z = a * (e - top);
    if (z > -1.0) candidates.push_back(z);
  }
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  return candidates;
}

double mean_of(std::span<const double> values) {
  CompensatedSum sum;
  for (const double z : values) sum.add(z);
  return sum.value() / static_cast<double>(values.size());
}

// Each weight carries the rounding of tau; dividing by their sum takes out the common part.
void divide_by_sum(std::span<double> weights) {
  CompensatedSum sum;
  for (const double w : weights) sum.add(w);
  for (double& w : weights) w /= sum.value();
}

}  // namespace

RowFacts sparsemax_weigh(std::span<const double> scores, std::span<double> weights) {
  const double top = *std::max_element(scores.begin(), scores.end());
  const std::vector<double> sorted = sorted_candidates(1.0, top, scores);
  std::size_t support = 0;
  CompensatedSum sum;
  for (const double z : sorted) {  // z is in the support while 1 + k z_k > sum of the k largest
    sum.add(z);
    if (1.0 + static_cast<double>(support + 1) * z <= sum.value()) break;
    ++support;
  }
  const double tau = mean_of({sorted.data(), support}) - 1.0 / static_cast<double>(support);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    weights[j] = std::max(0.0, (scores[j] - top) - tau);
  }
  divide_by_sum(weights);
  return {.temperature = 1.0, .threshold = top + tau};
}

RowFacts entmax15_weigh(std::span<const double> scores, std::span<double> weights) {
  const double top = *std::max_element(scores.begin(), scores.end());
  const std::vector<double> sorted = sorted_candidates(0.5, top, scores);
  // Over the k largest: sum (z - tau)^2 = 1 has the root tau = mean - sqrt((1 - scatter) / k).
  const auto root = [](double mean, double scatter, double k) {
    return mean - std::sqrt(std::max(0.0, (1.0 - scatter) / k));
  };
  std::size_t support = 0;
  double mean = 0.0, scatter = 0.0;
  for (const double z : sorted) {
    const double k = static_cast<double>(support + 1);
    const double before = z - mean;
    mean += before / k;
    scatter += before * (z - mean);
    if (root(mean, scatter, k) > z) break;
    ++support;
  }
  const std::span<const double> inside(sorted.data(), support);
  mean = mean_of(inside);
  CompensatedSum squares;
  for (const double z : inside) squares.add((z - mean) * (z - mean));
  const double tau = root(mean, squares.value(), static_cast<double>(support));
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const double lift = std::max(0.0, 0.5 * (scores[j] - top) - tau);
    weights[j] = lift * lift;
  }
  divide_by_sum(weights);
  return {.temperature = 1.0, .threshold = 0.5 * top + tau};
}

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
