// Intervals and the paired t-test where Student's distribution has a closed form: one and two degrees of
// freedom.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "sharpmax/error.h"
#include "statistics/significance.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using Values = std::vector<double>;

// P(|T| > t) of one degree of freedom (Cauchy) and of two.
double tails_of_one(double t) { return 1.0 - 2.0 / std::numbers::pi * std::atan(std::abs(t)); }
double tails_of_two(double t) { return 1.0 - std::abs(t) / std::sqrt(2.0 + t * t); }

TEST(PairedTTest, OfTwoPairsIsCauchys) {
  // Differences 1 and 3: mean 2, deviation sqrt(2), error 1.
  const PairedTest test = paired_t_test(Values{5.0, 1.0}, Values{6.0, 4.0});
  EXPECT_EQ(test.pairs, 2);
  EXPECT_DOUBLE_EQ(test.difference, 2.0);
  EXPECT_NEAR(test.t, 2.0, 1e-14);
  EXPECT_NEAR(test.p, tails_of_one(2.0), 1e-14);
}

TEST(PairedTTest, OfThreePairsHasTwoDegreesOfFreedom) {
  // Differences -1, -2, -6: mean -3, squares 4 + 1 + 9 = 14, error sqrt(14 / 2 / 3).
  const PairedTest test = paired_t_test(Values{1.0, 2.0, 6.0}, Values{0.0, 0.0, 0.0});
  EXPECT_DOUBLE_EQ(test.difference, -3.0);
  EXPECT_NEAR(test.t, -3.0 / std::sqrt(7.0 / 3.0), 1e-14);
  EXPECT_NEAR(test.p, tails_of_two(test.t), 1e-14);
}

TEST(PairedTTest, ChangesSignAndNothingElseWhenTheSidesAreSwapped) {
  const Values a{0.3, 0.9, 0.4, 0.1}, b{0.5, 0.7, 0.95, 0.2};
  const PairedTest there = paired_t_test(a, b), back = paired_t_test(b, a);
  EXPECT_EQ(there.t, -back.t);
  EXPECT_EQ(there.p, back.p);
  EXPECT_EQ(there.difference, -back.difference);
}

TEST(PairedTTest, SaysNothingOfTooFewPairsOrOfPairsThatAllDifferByTheSame) {
  for (const auto& [a, b] : {std::pair{Values{}, Values{}}, std::pair{Values{1.0}, Values{2.0}},
                             std::pair{Values{1.0, 2.0, 3.0}, Values{1.0, 2.0, 3.0}},
                             std::pair{Values{1.0, 2.0, 3.0}, Values{1.5, 2.5, 3.5}}}) {
    const PairedTest test = paired_t_test(a, b);
    EXPECT_TRUE(std::isnan(test.t));
    EXPECT_TRUE(std::isnan(test.p));
    EXPECT_EQ(test.pairs, static_cast<std::int64_t>(a.size()));
  }
  EXPECT_DOUBLE_EQ(paired_t_test(Values{1.0, 2.0}, Values{1.5, 2.5}).difference, 0.5);
  EXPECT_TRUE(
      std::isnan(paired_t_test(Values{1.0, std::numeric_limits<double>::quiet_NaN()}, Values{1.0, 2.0}).p));
  EXPECT_THROW(paired_t_test(Values{1.0}, Values{1.0, 2.0}), Error);
}

TEST(MeanInterval, OfTwoAndThreeValuesHasAClosedForm) {
  for (const double confidence : {0.5, 0.9, 0.95, 0.99}) {
    // Of one degree of freedom the quantile is tan(pi confidence / 2), of two c sqrt(2 / (1 - c^2)).
    const Interval two = mean_interval(Values{2.0, 4.0}, confidence);
    const double half = std::tan(0.5 * std::numbers::pi * confidence);
    EXPECT_NEAR(two.low, 3.0 - half, 1e-11 * half);
    EXPECT_NEAR(two.high, 3.0 + half, 1e-11 * half);
    const Interval three = mean_interval(Values{1.0, 2.0, 6.0}, confidence);
    const double wide = confidence * std::sqrt(2.0 / (1.0 - confidence * confidence)) * std::sqrt(7.0 / 3.0);
    EXPECT_NEAR(three.low, 3.0 - wide, 1e-11 * wide);
    EXPECT_NEAR(three.high, 3.0 + wide, 1e-11 * wide);
  }
}

TEST(MeanInterval, OfEqualValuesIsAPointAndOfOneUnknown) {
  const Interval point = mean_interval(Values{0.1, 0.1, 0.1});
  EXPECT_DOUBLE_EQ(point.low, 0.1);
  EXPECT_DOUBLE_EQ(point.high, 0.1);
  EXPECT_TRUE(std::isnan(mean_interval(Values{0.1}).low));
  EXPECT_TRUE(std::isnan(mean_interval(Values{}).high));
  EXPECT_THROW(mean_interval(Values{1.0, 2.0}, 1.0), Error);
}

TEST(ShareInterval, EndsWhereTheTrueShareWouldBeThatFarOff) {
  constexpr double z = 1.959963984540054;
  for (const auto& [right, sets] :
       {std::pair{3, 10}, std::pair{500, 1000}, std::pair{1, 8192}, std::pair{8191, 8192}}) {
    const double share = static_cast<double>(right) / sets;
    const Interval i = share_interval(right, sets);
    EXPECT_LT(i.low, share);
    EXPECT_GT(i.high, share);
    for (const double end : {i.low, i.high})
      EXPECT_NEAR((share - end) * (share - end), z * z * end * (1.0 - end) / sets, 1e-13);
  }
}

TEST(ShareInterval, StaysWithinZeroAndOne) {
  for (std::int64_t sets = 1; sets < 500; ++sets) {
    const Interval none = share_interval(0, sets), all = share_interval(sets, sets);
    EXPECT_EQ(none.low, 0.0);
    EXPECT_GT(none.high, 0.0);
    EXPECT_EQ(all.high, 1.0);
    EXPECT_NEAR(all.low, 1.0 - none.high, 1e-15);
  }
  EXPECT_TRUE(std::isnan(share_interval(0, 0).low));
}

TEST(MedianInterval, TakesSixValuesAndThenTheEndsOfTheirOrder) {
  EXPECT_TRUE(std::isnan(median_interval(Values{}).low));
  EXPECT_TRUE(std::isnan(median_interval(Values{1, 2, 3, 4, 5}).low));
  const Interval six = median_interval(Values{3, 1, 2, 6, 5, 4});
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  // Of 20, 2 P(B <= 5) = 0.041 and 2 P(B <= 6) = 0.115.
  Values twenty;
  for (int i = 1; i <= 20; ++i) twenty.push_back(i);
  EXPECT_EQ(median_interval(twenty).low, 6);
  EXPECT_EQ(median_interval(twenty).high, 15);
}

TEST(MedianInterval, HoldsTheMedianOfASkewedDistributionAsOftenAsItSays) {
  Random random(17);
  for (const std::size_t count : {6, 13, 40}) {
    int held = 0;
    for (int i = 0; i < 4000; ++i) {
      Values values;
      for (std::size_t k = 0; k < count; ++k) values.push_back(std::exp(3 * random.normal()));  // median 1
      const Interval interval = median_interval(values);
      held += interval.low <= 1 && 1 <= interval.high;
    }
    EXPECT_GE(held, 0.94 * 4000) << count << " values";  // three standard errors below 95 %
    EXPECT_LE(held, 0.985 * 4000) << count << " values";
  }
}

}  // namespace
}  // namespace sharpmax::test
