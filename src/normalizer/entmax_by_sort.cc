// Sparsemax and 1.5-entmax in closed form over the sorted candidates.
//
// The textbook recursion over raw sums of squares cancels on long rows. Here scores are shifted by the
// maximum, only keys that can have weight are sorted, running moments are Welford's, and once the
// support is known its threshold is computed afresh from compensated sums.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/numbers.h"
#include "normalizer/threshold_map.h"

namespace sharpmax {
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

}  // namespace sharpmax
