// Paper A's dispersion: no row passes the bounds, the tight form is reached, and the lengths are those of it.
#include <gtest/gtest.h>

#include "sharpmax/error.h"
#include "support/row.h"
#include "support/theory_attack.h"
#include "theory/dispersion.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

constexpr double kSumRounding = 1.0 + 64.0 * kEps;  // of an exp and a sum of at most 300 terms of one sign

TEST(TheoryDispersion, NoRandomRowPassesEitherForm) {
  for_each_seed(2000, [](Random& random) {
    const auto n = static_cast<std::size_t>(random.size(1, 300));
    const double beta = random.log_uniform(0.05, 8.0);
    Row row(n);
    const double power = random.log_uniform(0.1, 40.0), scale = random.log_uniform(1e-3, 30.0);
    for (double& e : row) e = scale * std::pow(random.uniform(), power);
    const double spread = spread_of(row), count = static_cast<double>(n);
    const Range published = dispersion_bound(spread, count, beta),
                tight = dispersion_range(spread, count, beta);
    EXPECT_LE(published.low, tight.low * kSumRounding);
    EXPECT_LE(tight.high, published.high * kSumRounding);
    const Row weights = weigh(Softmax{.beta = beta}, row).weights;
    for (const double w : weights) {
      EXPECT_LE(w, tight.high * kSumRounding);
      EXPECT_GE(w * kSumRounding, tight.low);
    }
    EXPECT_GE(largest(weights) * kSumRounding, 1.0 / count);
  });
}

TEST(TheoryDispersion, UphillSearchReachesTheTightFormAndDoesNotPassIt) {
  for_each_seed(40, [](Random& random) {
    const auto n = static_cast<std::size_t>(random.size(2, 12));
    const double spread = random.log_uniform(0.05, 12.0), beta = random.log_uniform(0.2, 3.0);
    const Range tight = dispersion_range(spread, static_cast<double>(n), beta);
    const auto first_weight = [&](const Row& places) {
      Row row = places;
      for (double& e : row) e *= spread;
      return weigh(Softmax{.beta = beta}, row).weights[0];
    };
    const double high = climbed(random, n, first_weight);
    const double low = -climbed(random, n, [&](const Row& places) { return -first_weight(places); });
    EXPECT_LE(high, tight.high * kSumRounding);
    EXPECT_GE(low * kSumRounding, tight.low);
    EXPECT_NEAR(high, tight.high, 1e-6 * tight.high);
    EXPECT_NEAR(low, tight.low, 1e-6 * tight.low);
  });
}

TEST(TheoryDispersion, LengthsAreWhereTheBoundsCross) {
  for (const double spread : {0.0, 0.5, 5.69, 14.78, 30.0})
    for (const double peak : {0.01, 0.5, 0.9}) {
      const double sharp = std::exp(log_sharp_length(spread, peak, 1.25));
      EXPECT_NEAR(dispersion_range(spread, sharp, 1.25).high, peak, 1e-9);
      const double sure = std::exp(log_dispersion_length(spread, peak, 1.25));
      EXPECT_LT(dispersion_range(spread, sure * (1.0 + 1e-9), 1.25).high, peak);
      EXPECT_GE(sure * (1.0 + 1e-9), sharp);  // the published length is the longer one: it is safe
    }
  EXPECT_NEAR(std::exp(log_sharp_length(5.69, 0.5)), 1.0 + std::exp(5.69), 1e-9);
  EXPECT_DOUBLE_EQ(log_sharp_length(4e4, 0.5), 4e4);  // where exp overflows
}

TEST(TheoryDispersion, HypothesesAreChecked) {
  for (const double bad : {-1.0, std::nan(""), kInfinity}) {
    EXPECT_THROW(dispersion_bound(bad, 4.0), Error);
    EXPECT_THROW(dispersion_range(1.0, bad), Error);
    EXPECT_THROW(dispersion_range(1.0, 4.0, bad), Error);
    EXPECT_THROW(log_sharp_length(1.0, bad), Error);
  }
  EXPECT_THROW(dispersion_range(1.0, 0.5), Error);
  EXPECT_THROW(log_dispersion_length(1.0, 1.0), Error);
  EXPECT_THROW(spread_of({}), Error);
  EXPECT_THROW(spread_of(Row{1.0, std::nan("")}), Error);
  EXPECT_THROW(norm_spread_bound({.query_gain = -1.0}), Error);
}

}  // namespace
}  // namespace sharpmax::test
