#include "theory/separability.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "theory/arguments.h"

namespace sharpmax::theory {
namespace {

constexpr double kSumRounding = 64.0 * std::numeric_limits<double>::epsilon();

double squares_of(std::span<const double> weights) {
  double sum = 0.0;
  for (const double w : weights) sum += w * w;
  return sum;
}

}  // namespace

std::vector<double> separability_reaches(const SeparabilityFacts& facts) {
  const double m = facts.radius, delta = facts.separation;
  require("the radius", m, kPositive);
  require("the separation", delta, kNotNegative);
  if (facts.weights.empty())
    throw Error(ErrorCode::bad_argument,
                "separability: no weight was given; at least one key must be selected");
  if (delta > 2.0 * m)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the separation is {}; vectors no longer than {} are at most twice that apart",
                            delta, m));
  double sum = 0.0;
  for (const double w : facts.weights) {
    require("a weight", w, kNotNegative);
    sum += w;
  }
  const double squares = squares_of(facts.weights);
  std::vector<double> reaches;
  for (const double w : facts.weights) {
    const double others = squares - w * w, rest = sum - w;
    const double reach = m * m * others + (m * m - 0.5 * delta * delta) * (rest * rest - others);
    // The two parts may cancel to nothing; beyond rounding, below 0 means that the facts contradict each
    // other.
    if (reach < -kSumRounding * m * m * sum * sum)
      throw Error(ErrorCode::bad_argument, fmt::format("no {} vectors of norm at most {} are all {} apart",
                                                       facts.weights.size(), m, delta));
    reaches.push_back(std::sqrt(std::max(0.0, reach)));
  }
  return reaches;
}

double separability_lower_bound(const SeparabilityFacts& facts, double r) {
  require("r", r, kPositive);
  double sum = 0.0;
  for (const double reach : separability_reaches(facts)) sum += reach;
  return 1.0 - sum / (static_cast<double>(facts.weights.size()) * r);
}

double counted_separability_lower_bound(const SeparabilityFacts& facts, double r) {
  require("r", r, kPositive);
  const std::vector<double> reaches = separability_reaches(facts);
  // Keys that all lie at the same distance are told apart by no one: rounding must not do it.
  const auto within = std::count_if(reaches.begin(), reaches.end(),
                                    [&](double reach) { return reach < r * (1.0 - kSumRounding); });
  return static_cast<double>(within) / static_cast<double>(reaches.size());
}

double separability_reference(const SeparabilityFacts& facts, double r) {
  require("r", r, kPositive);
  const std::vector<double> reaches = separability_reaches(facts);
  const double squares = squares_of(facts.weights), m = facts.radius;
  double sum = 0.0;
  for (std::size_t i = 0; i < reaches.size(); ++i) {
    const double excess = std::max(0.0, reaches[i] - r);
    const double others = squares - facts.weights[i] * facts.weights[i];
    sum += excess > 0.0 ? std::exp(-excess * excess / (2.0 * m * m * others)) : 1.0;
  }
  return sum / static_cast<double>(reaches.size());
}

}  // namespace sharpmax::theory
