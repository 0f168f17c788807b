// The guarantee: entropy_target and peak_target keep their word on every row, at any length.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/row.h"

namespace sharpmax::test {
namespace {

// H in double differs from H in long double by the rounding of the exponents: eps times the largest
// exponent that counts (below 64), relative to H.
constexpr double kRounding = 64.0 * kEps;

void expect_entropy_kept(const Row& scores, double nats) {
  const Weighed found = weigh(EntropyTarget{.nats = nats}, scores);
  const double beta = found.facts.temperature;
  ASSERT_GE(beta, 1.0);
  EXPECT_TRUE(std::isfinite(beta));
  EXPECT_LE(oracle::entropy(scores, beta), nats * (1.0 + kRounding)) << "beta " << beta;
  EXPECT_GE(largest(found.weights), std::exp(-nats) * (1.0 - kRounding));
  EXPECT_NEAR(oracle::sum(found.weights), 1.0, 8.0 * kEps);
  if (beta > 1.0) {  // and no sharper than it must be
    EXPECT_GT(oracle::entropy(scores, beta * (1.0 - 1e-9)), nats * (1.0 - kRounding)) << "beta " << beta;
  }
}

void expect_peak_kept(const Row& scores, double weight) {
  const Weighed found = weigh(PeakTarget{.weight = weight}, scores);
  const double beta = found.facts.temperature;
  ASSERT_GE(beta, 1.0);
  EXPECT_TRUE(std::isfinite(beta));
  EXPECT_GE(largest(found.weights), weight);  // exactly: it stops on the feasible side
  EXPECT_NEAR(oracle::sum(found.weights), 1.0, 8.0 * kEps);
  if (beta > 1.0) {
    EXPECT_LT(1.0 / (1.0 + oracle::tail(scores, beta * (1.0 - 1e-9))), weight * (1.0 + kRounding));
  }
}

double next_below(double x, int ulps) {
  for (int i = 0; i < ulps; ++i) x = std::nextafter(x, -kInfinity);
  return x;
}

// Makes the two largest differ by `gap`, or by a few ulps for gap = 0.
void bring_close(Row& row, double gap, int ulps) {
  const auto first = std::max_element(row.begin(), row.end());
  const double top = *first;
  const auto second = first == row.begin() ? row.begin() + 1 : row.begin();
  *second = gap > 0.0 ? top - gap : next_below(top, ulps);
  if (*second == top) *second = next_below(top, 1);
}

TEST(TargetLaws, EverySmallRowWithAUniqueMaximumKeepsItsTarget) {
  for_each_seed(3000, [](Random& random) {
    Row row = random.row(random.size(1, 80), random.log_uniform(1e-3, 1e4));
    if (row.size() > 1 && random.uniform() < 0.4) {
      bring_close(row, random.uniform() < 0.5 ? random.log_uniform(1e-14, 1e-2) : 0.0,
                  static_cast<int>(random.size(1, 4)));
    }
    if (random.uniform() < 0.3) {
      for (double& e : row) e = static_cast<float>(e);
      if (std::count(row.begin(), row.end(), largest(row)) > 1) return;  // a tie by rounding
    }
    expect_entropy_kept(row, random.log_uniform(1e-6, 5.0));
    expect_peak_kept(
        row, random.uniform() < 0.5 ? random.uniform(0.01, 0.99) : 1.0 - random.log_uniform(1e-9, 1e-2));
  });
}

TEST(TargetLaws, RowsOfAMillionKeysKeepTheirTarget) {
  struct Case {
    double spread, gap;
    bool as_float;
  };
  const std::vector<Case> cases = {{1e-3, -1.0, false}, {1.0, 1e-12, false}, {30.0, 0.0, false},
                                   {1e4, -1.0, true},   {1e4, 0.0, false},   {1.0, -1.0, true}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "case and seed " << i);
    Random random(i);
    Row row = random.row(1'000'000, cases[i].spread);
    if (cases[i].gap >= 0.0) bring_close(row, cases[i].gap, 2);
    if (cases[i].as_float) {
      for (double& e : row) e = static_cast<float>(e);
      double& winner = *std::max_element(row.begin(), row.end());
      winner = std::nextafter(static_cast<float>(winner), std::numeric_limits<float>::max());
    }
    expect_entropy_kept(row, 0.5);
    expect_peak_kept(row, 0.9);
  }
}

TEST(TargetLaws, TiesThatPutTheTargetOutOfReachShareEqually) {
  for_each_seed(300, [](Random& random) {
    Row row = random.row(random.size(2, 200), random.log_uniform(1e-3, 1e4));
    const std::size_t ties = random.size(2, row.size());
    const double top = largest(row);
    for (std::size_t j = 0; j < ties; ++j) row[j] = top;
    const auto m = static_cast<double>(std::count(row.begin(), row.end(), top));
    const double below = std::log(m) * random.uniform(0.01, 0.99);
    for (const AnyNormalizer& unreachable : {AnyNormalizer(EntropyTarget{.nats = below}),
                                             AnyNormalizer(PeakTarget{.weight = std::exp(-below)})}) {
      const Weighed found = weigh(unreachable, row);
      EXPECT_EQ(found.facts.temperature, kInfinity);
      for (std::size_t j = 0; j < row.size(); ++j) {
        EXPECT_EQ(found.weights[j], row[j] == top ? 1.0 / m : 0.0);
      }
    }
    if (m < static_cast<double>(row.size())) {  // and a target that ties leave in reach is reached
      expect_entropy_kept(row, std::log(m) * 1.01);
      expect_peak_kept(row, 0.99 / m);
    }
  });
}

TEST(TargetLaws, GapsThatNoTemperatureCanOpenGoToTheLimit) {
  const Weighed found = weigh(PeakTarget{.weight = 0.9}, {0.0, -5e-324, -1.0});
  EXPECT_EQ(found.weights, (Row{1.0, 0.0, 0.0}));
  EXPECT_EQ(weigh(EntropyTarget{.nats = 0.1}, {0.0, -5e-324, -1.0}).weights, (Row{1.0, 0.0, 0.0}));
}

TEST(TargetLaws, ARowThatIsSharpEnoughIsPlainSoftmax) {
  for_each_seed(100, [](Random& random) {
    const Row row = random.row(random.size(1, 50), 1.0);
    const Row plain = weigh(Softmax{}, row).weights;
    EXPECT_EQ(weigh(EntropyTarget{.nats = oracle::entropy(row) + 1e-9}, row).weights, plain);
    EXPECT_EQ(weigh(PeakTarget{.weight = largest(plain) * (1.0 - 1e-9)}, row).weights, plain);
  });
}

TEST(TargetLaws, ARowWiderThanDoubleIsSharpEnoughAsItIs) {
  const Row row = {1e308, -1e308, 0.0};  // the gap overflows; its share of the entropy is 0, not NaN
  for (const AnyNormalizer& normalizer : {AnyNormalizer(EntropyTarget{}), AnyNormalizer(PeakTarget{})}) {
    EXPECT_EQ(weigh(normalizer, row).facts.temperature, 1.0);
    EXPECT_EQ(weigh(normalizer, row).weights, (Row{1.0, 0.0, 0.0}));
  }
}

TEST(TargetLaws, ATargetCanBeSmallerThanAnyWeightLeftOver) {
  const Weighed found = weigh(EntropyTarget{.nats = 1e-200}, {1.0, 0.0, -1.0});
  EXPECT_LE(oracle::entropy({1.0, 0.0, -1.0}, found.facts.temperature), 1e-200);
  EXPECT_NEAR(found.facts.temperature, 466.0, 2.0);  // beta exp(-beta) = 1e-200
}

}  // namespace
}  // namespace sharpmax::test
