// What single members promise beyond the laws of the family: formulas by hand, limits, identities.
#include <gtest/gtest.h>

#include <numbers>

#include "support/settings.h"

namespace sharpmax::test {
namespace {

void expect_rows_near(const Row& found, const Row& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j], wanted[j], tolerance) << "key " << j;
}

double temperature_at(const char* text, std::size_t n) {
  return weigh(AnyNormalizer::parse(text), Row(n, 0.0)).facts.temperature;
}

TEST(SoftmaxLaws, TheSlopeOfTheEntropyIsMinusBetaTimesTheVariance) {
  for_each_seed(100, [](Random& random) {
    const Row row = random.row(random.size(2, 100), 1.0);
    const double beta = random.uniform(0.2, 4.0), h = 1e-4 * beta;
    const Row p = weigh(Softmax{.beta = beta}, row).weights;
    double mean = 0.0, square = 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) mean += p[j] * row[j];
    for (std::size_t j = 0; j < row.size(); ++j) square += p[j] * (row[j] - mean) * (row[j] - mean);
    const double slope = (8.0 * (oracle::entropy(row, beta + h) - oracle::entropy(row, beta - h)) -
                          (oracle::entropy(row, beta + 2 * h) - oracle::entropy(row, beta - 2 * h))) /
                         (12.0 * h);
    EXPECT_NEAR(slope, -beta * square, 1e-9);
  });
}

TEST(SoftmaxLaws, OneOverThePeakIsTheSumOverTheGaps) {
  for_each_seed(100, [](Random& random) {
    const Row row = random.row(random.size(1, 200), 2.0);
    const double beta = random.uniform(0.0, 5.0);
    long double sum = 0.0L;
    for (const double e : row) sum += std::exp(static_cast<long double>(-beta * (largest(row) - e)));
    EXPECT_LE(
        relative_error(1.0 / largest(weigh(Softmax{.beta = beta}, row).weights), static_cast<double>(sum)),
        32.0 * kEps);
  });
}

TEST(SoftmaxLaws, TheLogPartitionIsThatOfBetaTimesTheScore) {
  const Row row = {0.5, -1.0, 2.0};
  for (const double beta : {2.0, -1.5, 0.0}) {
    double sum = 0.0;
    for (const double e : row) sum += std::exp(beta * e);
    EXPECT_NEAR(weigh(Softmax{.beta = beta}, row).facts.log_partition, std::log(sum), 4.0 * kEps);
  }
}

TEST(EntmaxLaws, BisectionAndSortingAreEachOthersOracle) {
  for_each_seed(400, [](Random& random) {
    Row row = random.row(random.size(1, 300), random.log_uniform(1e-4, 100.0));
    if (random.uniform() < 0.2) row.assign(row.size(), row[0]);  // all tied
    const Weighed two = weigh(Entmax{.alpha = 2.0}, row), sparse = weigh(Sparsemax{}, row);
    const Weighed half = weigh(Entmax{.alpha = 1.5}, row), sorted = weigh(Entmax15{}, row);
    expect_rows_near(two.weights, sparse.weights, 16.0 * kEps);
    expect_rows_near(half.weights, sorted.weights, 16.0 * kEps);
    const double scale = std::abs(largest(row)) + 1.0;
    EXPECT_NEAR(two.facts.threshold, sparse.facts.threshold, 16.0 * kEps * scale);
    EXPECT_NEAR(half.facts.threshold, sorted.facts.threshold, 16.0 * kEps * scale);
  });
}

TEST(EntmaxLaws, TheyStillAgreeOverAMillionKeys) {
  Random random(7);
  for (const double spread : {1e-3, 1.0}) {
    const Row row = random.row(1'000'000, spread);
    expect_rows_near(weigh(Entmax{.alpha = 2.0}, row).weights, weigh(Sparsemax{}, row).weights, 16.0 * kEps);
    expect_rows_near(weigh(Entmax{.alpha = 1.5}, row).weights, weigh(Entmax15{}, row).weights, 16.0 * kEps);
  }
}

TEST(EntmaxLaws, WeightsAreTheFormulaAtTheThreshold) {
  for_each_seed(200, [](Random& random) {
    const Row row = random.row(random.size(1, 100), random.log_uniform(0.01, 3.0));
    for (const double alpha : {1.1, 1.25, 1.5, 1.8, 2.0, 2.5, 4.0}) {
      const Weighed found = weigh(Entmax{.alpha = alpha}, row);
      for (std::size_t j = 0; j < row.size(); ++j) {
        const double lift = std::max(0.0, (alpha - 1.0) * row[j] - found.facts.threshold);
        // tau and the score carry 16 eps between them; the power may be steep, so it bounds both sides.
        const auto power = [&](double x) { return std::pow(std::max(0.0, x), 1.0 / (alpha - 1.0)); };
        const double slack = 16.0 * kEps * (1.0 + std::abs(row[j]));
        EXPECT_GE(found.weights[j], power(lift - slack) * (1.0 - 1e-12)) << alpha;
        EXPECT_LE(found.weights[j], power(lift + slack) * (1.0 + 1e-12)) << alpha;
      }
    }
  });
}

TEST(EntmaxLaws, AlphaGoesToOneWithoutAJump) {
  for_each_seed(100, [](Random& random) {
    const Row row = random.row(random.size(2, 100), random.log_uniform(0.1, 5.0));
    const Row soft = weigh(Softmax{}, row).weights;
    EXPECT_EQ(weigh(Entmax{.alpha = 1.0}, row).weights, soft);
    // dp/dalpha at 1 is at most sum p ln^2 p / 2: below 30 for these rows.
    for (const double step : {2.3e-16, 1e-15, 1e-12, 1e-9, 1e-6}) {
      expect_rows_near(weigh(Entmax{.alpha = 1.0 + step}, row).weights, soft, 30.0 * step + 64.0 * kEps);
    }
  });
}

TEST(EntmaxLaws, KeysFurtherThanItsReachGetExactlyNothing) {
  for (const double alpha : {1.5, 2.0, 4.0, 16.0}) {
    const double reach = 1.0 / (alpha - 1.0);
    EXPECT_EQ(weigh(Entmax{.alpha = alpha}, {0.0, -reach * 1.0001, -50.0}).weights, (Row{1.0, 0.0, 0.0}));
    EXPECT_GT(weigh(Entmax{.alpha = alpha}, {0.0, -reach * 0.9}).weights[1], 0.0);
  }
}

TEST(EntmaxLaws, ASteepMapFindsTheWeightAtTheEdgeOfTheSupport) {
  // Two keys whose gap is a hair inside the reach: p_2 = 1 - p_1, and p_1^a = a g up to p_2^a = 1e-150.
  const double alpha = 16.0, a = alpha - 1.0, short_of = 1e-9;
  const Row weights = weigh(Entmax{.alpha = alpha}, {0.0, -(1.0 - short_of) / a}).weights;
  EXPECT_NEAR(weights[1], -std::expm1(std::log1p(-short_of) / a), 1e-15);
}

TEST(EntmaxLaws, OverScoresSpreadEvenlyThePeakFallsAsNToTheMinusOneOverAlpha) {
  const auto evenly = [](std::size_t n) {
    Row row(n);
    for (std::size_t j = 0; j < n; ++j) row[j] = static_cast<double>(j) / static_cast<double>(n);
    return row;
  };
  for (const double alpha : {1.25, 1.5, 2.0, 3.0}) {
    const AnyNormalizer entmax = Entmax{.alpha = alpha};
    const double fall =
        largest(weigh(entmax, evenly(1'000'000)).weights) / largest(weigh(entmax, evenly(10'000)).weights);
    EXPECT_NEAR(std::log(fall) / std::log(100.0), -1.0 / alpha, 0.01) << alpha;
  }
}

TEST(AsentmaxLaws, ItIsEntmaxOfTheScaledScores) {
  const Row row = {0.3, -0.2, 0.9, 0.85, 0.1};
  const double scale = 0.4 + 0.3 * std::pow(std::log(6.0), 1.7);
  Row scaled = row;
  for (double& e : scaled) e *= scale;
  const AnyNormalizer asentmax = Asentmax{.alpha = 1.3, .delta = 0.4, .beta = 0.3, .gamma = 1.7};
  expect_rows_near(weigh(asentmax, row).weights, weigh(Entmax{.alpha = 1.3}, scaled).weights, 8.0 * kEps);
  EXPECT_NEAR(weigh(asentmax, row).facts.temperature, scale, 4.0 * kEps);
}

TEST(SsmaxLaws, TheTemperatureIsSTimesLogNPlusB) {
  EXPECT_DOUBLE_EQ(temperature_at("ssmax:s=0.43,b=0.2", 1000), 0.43 * std::log(1000.0) + 0.2);
  EXPECT_EQ(temperature_at("ssmax", 1), 0.0);
}

TEST(LogLengthLaws, EveryPresetIsItsPublishedFormula) {
  EXPECT_EQ(temperature_at("log_length", 1000), 1.0);
  EXPECT_DOUBLE_EQ(temperature_at("log_length", 1024 * 1024), 2.0);
  EXPECT_DOUBLE_EQ(temperature_at("log_length:preset=llama4", 8191), 1.0);
  EXPECT_DOUBLE_EQ(temperature_at("log_length:preset=llama4", 8192), 1.0 + 0.1 * std::numbers::ln2);
  EXPECT_DOUBLE_EQ(temperature_at("log_length:preset=llama4", 30000), 1.0 + 0.1 * std::log(4.0));
  EXPECT_EQ(temperature_at("log_length:preset=yarn", 30000), 1.0);
  EXPECT_DOUBLE_EQ(temperature_at("log_length:preset=yarn,factor=16", 10),
                   std::pow(0.1 * std::log(16.0) + 1.0, 2));
  EXPECT_EQ(temperature_at("log_length:preset=yarn,factor=0.5", 10), 1.0);
  EXPECT_EQ(temperature_at("log_length:preset=yarn_dynamic", 512), 1.0);
  EXPECT_DOUBLE_EQ(temperature_at("log_length:preset=yarn_dynamic", 4096),
                   std::pow(0.1 * std::log(4.0) + 1.0, 2));
}

TEST(TopKLaws, OfEqualScoresTheLowestIndexWins) {
  EXPECT_EQ(weigh(TopK{.k = 2}, {1.0, 2.0, 1.0, 1.0}).weights[0], weigh(Softmax{}, {1.0, 2.0}).weights[0]);
  EXPECT_EQ(weigh(TopK{.k = 2}, {1.0, 1.0, 1.0}).weights, (Row{0.5, 0.5, 0.0}));
  EXPECT_EQ(weigh(Hard{}, {0.0, 3.0, 3.0}).weights, (Row{0.0, 1.0, 0.0}));
}

TEST(TopKLaws, WithAllKeysItIsSoftmaxAndWithOneItIsHard) {
  for_each_seed(50, [](Random& random) {
    const Row row = random.row(random.size(1, 40), 2.0);
    EXPECT_EQ(weigh(TopK{.k = 40, .beta = 1.5}, row).weights, weigh(Softmax{.beta = 1.5}, row).weights);
    EXPECT_EQ(weigh(TopK{.k = 1}, row).weights, weigh(Hard{}, row).weights);
  });
}

TEST(SinkLaws, ItIsSoftmaxTimesTheShareTheSinkLeaves) {
  for_each_seed(50, [](Random& random) {
    const Row row = random.row(random.size(1, 40), 3.0);
    const double c = random.log_uniform(1e-3, 1e3);
    const Weighed soft = weigh(Softmax{}, row), sunk = weigh(Sink{.c = c}, row);
    const double share = 1.0 / (1.0 + c * std::exp(-soft.facts.log_partition));
    for (std::size_t j = 0; j < row.size(); ++j) {
      EXPECT_LE(relative_error(sunk.weights[j], soft.weights[j] * share), 32.0 * kEps);
    }
    EXPECT_EQ(sunk.facts.log_partition, soft.facts.log_partition);
  });
}

TEST(SoftpickLaws, ItIsTheFormulaAndNothingOverNothingIsNothing) {
  const Row row = {0.7, -0.4, 0.0, 1.9, 1e-12};
  double sum = 0.0;
  for (const double e : row) sum += std::abs(std::expm1(e));
  Row wanted;
  for (const double e : row) wanted.push_back(std::max(std::expm1(e), 0.0) / sum);
  expect_rows_near(weigh(Softpick{}, row).weights, wanted, 4.0 * kEps);
  EXPECT_LE(relative_error(weigh(Softpick{}, row).weights[4], wanted[4]), 8.0 * kEps);
  EXPECT_EQ(weigh(Softpick{}, {0.0, 0.0}).weights, (Row{0.0, 0.0}));
  EXPECT_EQ(weigh(Softpick{}, {-1.0, -2.0}).weights, (Row{0.0, 0.0}));
  EXPECT_NEAR(weigh(Softpick{}, {800.0, 800.0, -800.0}).weights[0], 0.5, 2.0 * kEps);
}

TEST(SigmoidLaws, LeftToItselfTheOffsetIsMinusLogN) {
  const Row row = {0.7, -0.4, 2.0};
  expect_rows_near(weigh(Sigmoid{}, row).weights, weigh(Sigmoid{.b = -std::log(3.0)}, row).weights, 0.0);
  EXPECT_DOUBLE_EQ(weigh(Sigmoid{.b = 0.5}, row).weights[0], 1.0 / (1.0 + std::exp(-1.2)));
}

TEST(StickBreakingLaws, TheMassIsWhatAllKeysTogetherBreakOff) {
  for_each_seed(50, [](Random& random) {
    const Row row = random.row(random.size(1, 40), 2.0);
    const Row weights = weigh(StickBreaking{}, row).weights;
    long double rest = 1.0L;
    for (std::size_t j = row.size(); j-- > 0;) {  // newest first
      const long double share = 1.0L / (1.0L + std::exp(static_cast<long double>(-row[j])));
      const auto wanted = static_cast<double>(share * rest);
      // A logarithm known to 2 eps gives a weight known to 2 eps times that logarithm.
      EXPECT_LE(relative_error(weights[j], wanted), 4.0 * kEps * (1.0 - std::log(wanted)));
      rest *= 1.0L / (1.0L + std::exp(static_cast<long double>(row[j])));
    }
    EXPECT_NEAR(oracle::sum(weights), static_cast<double>(1.0L - rest), 8.0 * kEps);
  });
}

TEST(SelfAdjustLaws, BothFormsAreTheirFormulas) {
  for (const Row& row : {Row{0.5, -1.0, 2.0}, Row{0.5, 1.0, 2.0}, Row{-0.5, -1.0, -2.0}}) {
    const double low = std::min(0.0, *std::min_element(row.begin(), row.end()));
    const double high = std::max(0.0, largest(row));
    Row scaled = weigh(Softmax{}, row).weights, plain = scaled;
    for (std::size_t j = 0; j < row.size(); ++j) {
      scaled[j] *= (row[j] - low) / (high - low);
      plain[j] *= row[j];
    }
    EXPECT_EQ(weigh(SelfAdjust{}, row).weights, scaled);
    EXPECT_EQ(weigh(SelfAdjust{.form = SelfAdjust::Form::plain}, row).weights, plain);
  }
  EXPECT_EQ(weigh(SelfAdjust{}, {0.0, 0.0}).weights, (Row{0.0, 0.0}));
}

TEST(ReluAndLinearLaws, TheyAreTheirFormulas) {
  EXPECT_EQ(weigh(Relu{}, {1.0, -2.0, 3.0, 0.0}).weights, (Row{0.25, 0.0, 0.75, 0.0}));
  EXPECT_EQ(weigh(Linear{}, {1.0, 2.0, 5.0}).weights, (Row{0.125, 0.25, 0.625}));
}

}  // namespace
}  // namespace sharpmax::test
