// Entropy falls with beta at the slope -beta Var, and bounds the peak from both sides.
#include <gtest/gtest.h>

#include "sharpmax/error.h"
#include "support/row.h"
#include "theory/dispersion.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

TEST(TheoryEntropy, SlopeIsTheDerivativeAndIsNeverPositive) {
  for_each_seed(300, [](Random& random) {
    const Row row = random.row(random.size(1, 60), random.log_uniform(0.1, 5.0));
    const double beta = random.log_uniform(0.05, 4.0), step = 1e-5 * beta;
    const double slope = entropy_slope(beta, row);
    const double found = (entropy_at(beta + step, row) - entropy_at(beta - step, row)) / (2.0 * step);
    EXPECT_NEAR(slope, found, 1e-6 * (1.0 + std::abs(slope)));
    EXPECT_LE(slope, 0.0);
    EXPECT_NEAR(entropy_at(beta, row), oracle::entropy(row, beta), 1e-12 * std::log(61.0));
    // Written out: -beta Var under the weights.
    const Row p = weigh(Softmax{.beta = beta}, row).weights;
    double mean = 0.0, square = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) mean += p[j] * row[j];
    for (std::size_t j = 0; j < row.size(); ++j) square += p[j] * (row[j] - mean) * (row[j] - mean);
    EXPECT_NEAR(slope, -beta * square, 1e-9 * (1.0 + beta * square));
  });
  EXPECT_EQ(entropy_slope(0.0, Row{1.0, 2.0}), 0.0);
  EXPECT_EQ(entropy_slope(2.0, Row{1.0, 1.0, 1.0}), 0.0);
}

TEST(TheoryEntropy, PeaksOfAnyDistributionLieBetweenTheTwoBounds) {
  for_each_seed(3000, [](Random& random) {
    const std::size_t n = random.size(1, 12);
    Row p(n);
    const double power = random.log_uniform(0.2, 30.0);
    for (double& x : p) x = std::pow(random.uniform(), power);
    if (random.uniform() < 0.3)
      for (double& x : p) x = x > 0.5 ? 1.0 : x;  // ties
    const double total = oracle::sum(p);
    for (double& x : p) x /= total;
    const double nats = oracle::entropy_of_weights(p), count = static_cast<double>(n);
    EXPECT_GE(largest(p), least_peak_at_entropy(nats, count) * (1.0 - 1e-9));
    EXPECT_GE(least_peak_at_entropy(nats, count), std::exp(-nats) * (1.0 - 1e-9));
    EXPECT_LE(largest(p), largest_peak_at_entropy(std::min(nats, std::log(count)), count) * (1.0 + 1e-9));
  });
}

TEST(TheoryEntropy, BothAreReached) {
  for (const double p : {0.21, 0.3, 0.45, 0.5, 0.8, 0.97}) {
    const double copies = std::floor(1.0 / p), rest = 1.0 - copies * p;
    const double nats = -copies * p * std::log(p) - (rest > 0.0 ? rest * std::log(rest) : 0.0);
    EXPECT_NEAR(least_peak_at_entropy(nats, 100.0), p, 1e-9);
    for (const double n : {8.0, 100.0, 1e9}) {
      const double most = -p * std::log(p) - (1.0 - p) * std::log((1.0 - p) / (n - 1.0));
      EXPECT_NEAR(largest_peak_at_entropy(most, n), p, 1e-9);
    }
  }
  for (const double m : {1.0, 2.0, 5.0})
    EXPECT_NEAR(least_peak_at_entropy(std::log(m), 50.0), 1.0 / m, 1e-12);
  EXPECT_NEAR(least_peak_at_entropy(0.5, 1e6), 0.8003, 1e-4);  // exp(-0.5) is 0.607
  EXPECT_EQ(least_peak_at_entropy(9.0, 4.0), 0.25);
}

TEST(TheoryEntropy, HypothesesAreChecked) {
  EXPECT_THROW(entropy_slope(1.0, {}), Error);
  EXPECT_THROW(entropy_slope(std::nan(""), Row{1.0}), Error);
  EXPECT_THROW(entropy_at(1.0, Row{kInfinity}), Error);
  EXPECT_THROW(least_peak_at_entropy(-0.1, 4.0), Error);
  EXPECT_THROW(largest_peak_at_entropy(2.0, 4.0), Error);  // four keys have ln 4 at most
}

}  // namespace
}  // namespace sharpmax::test
