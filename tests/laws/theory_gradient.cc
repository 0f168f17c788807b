// Paper B's corollary 3 does not hold as published; what holds instead.
#include <gtest/gtest.h>

#include <numbers>

#include "sharpmax/error.h"
#include "support/row.h"
#include "theory/dispersion.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

// |J v| for a unit v, written out.
double stretch(const Row& weights, double temperature, const Row& v) {
  double mean = 0.0, square = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) mean += weights[i] * v[i];
  for (std::size_t i = 0; i < v.size(); ++i) square += std::pow(weights[i] * (v[i] - mean) / temperature, 2);
  return std::sqrt(square);
}

Row softmax_of(Row scores, double temperature) {
  return weigh(Softmax{.beta = 1.0 / temperature}, scores).weights;
}

double difference(const Row& scores, const Row& v, double temperature, double epsilon) {
  Row moved = scores;
  for (std::size_t i = 0; i < v.size(); ++i) moved[i] += epsilon * v[i];
  const Row before = softmax_of(scores, temperature), after = softmax_of(moved, temperature);
  double square = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) square += std::pow(after[i] - before[i], 2);
  return std::sqrt(square) / epsilon;
}

TEST(TheoryGradient, TwoTiedScoresPassThePublishedBoundByTwo) {
  const double r = std::numbers::sqrt2 / 2.0;
  for (const double temperature : {2.0, 1.0, 0.3, 0.1, 0.01}) {
    const double norm = stretch(softmax_of({0.0, 0.0}, temperature), temperature, {r, -r});
    EXPECT_NEAR(norm, 0.5 / temperature, 1e-12 / temperature);
    EXPECT_GE(norm, 1.99 * published_gradient_bound(temperature));
    EXPECT_NEAR(norm, jacobian_norm_bound(temperature), 1e-12 / temperature);
  }
  // And finite differences pass sqrt(2), the other half of it, at a temperature of 0.1.
  EXPECT_GT(difference({0.0, 0.0}, {r, -r}, 0.1, 1e-3), 3.0 * std::numbers::sqrt2);
}

TEST(TheoryGradient, WhatHoldsIsNotPassed) {
  for_each_seed(2000, [](Random& random) {
    const std::size_t n = random.size(1, 20);
    const double temperature = random.log_uniform(0.01, 3.0), epsilon = random.log_uniform(1e-3, 20.0);
    Row scores = random.row(n, random.log_uniform(0.01, 5.0)), v = random.row(n, 1.0);
    double norm = 0.0;
    for (const double x : v) norm = std::hypot(norm, x);
    for (double& x : v) x /= norm;
    const Row weights = softmax_of(scores, temperature);
    const double found = stretch(weights, temperature, v);
    EXPECT_LE(found, jacobian_norm_bound(temperature) * (1.0 + 1e-12));
    EXPECT_LE(found, jacobian_norm_bound(temperature, weights) * (1.0 + 1e-9));
    EXPECT_LE(jacobian_norm_bound(temperature, weights), jacobian_norm_bound(temperature) * (1.0 + 1e-12));
    const double spread =
        *std::max_element(scores.begin(), scores.end()) - *std::min_element(scores.begin(), scores.end());
    EXPECT_LE(found,
              dispersed_jacobian_norm_bound(temperature, spread, static_cast<double>(n)) * (1.0 + 1e-9));
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_LE(weights[i] * (1.0 - weights[i]) / temperature,
                jacobian_entry_bound(temperature) * (1.0 + 1e-12));
    EXPECT_LE(difference(scores, v, temperature, epsilon),
              difference_bound(temperature, epsilon) * (1.0 + 1e-7));
  });
}

TEST(TheoryGradient, DispersionTakesTheGradientWithIt) {
  EXPECT_DOUBLE_EQ(dispersed_jacobian_norm_bound(1.0, 5.69, 2.0), 0.5);
  EXPECT_LT(dispersed_jacobian_norm_bound(1.0, 5.69, 1e6), 3e-4);
}

TEST(TheoryGradient, HypothesesAreChecked) {
  for (const double bad : {0.0, -1.0, std::nan(""), kInfinity}) {
    EXPECT_THROW(published_gradient_bound(bad), Error);
    EXPECT_THROW(jacobian_norm_bound(bad), Error);
    EXPECT_THROW(jacobian_entry_bound(bad), Error);
    EXPECT_THROW(difference_bound(1.0, bad), Error);
    EXPECT_THROW(dispersed_jacobian_norm_bound(bad, 1.0, 2.0), Error);
  }
  EXPECT_THROW(jacobian_norm_bound(1.0, Row{0.5, 0.4}), Error);
  EXPECT_THROW(jacobian_norm_bound(1.0, Row{1.5, -0.5}), Error);
}

}  // namespace
}  // namespace sharpmax::test
