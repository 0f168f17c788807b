// Laws of Survey: the algebra that lets one row be split over lanes, threads and machines.
#include <gtest/gtest.h>

#include <cstdio>

#include "sharpmax/survey.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

// Rounding of one merge: exp, a product and two sums, 2.5 eps on the tail; over the 11 levels of 2048
// keys, in two different trees, their sum stays below this.
constexpr double kBound = 32.0 * kEps;

TEST(SurveyLaws, SurveyingThePartsAndMergingEqualsSurveyingTheWhole) {
  double worst = 0.0;
  for_each_seed(500, [&](Random& random) {
    const Row row = random.row(random.size(2, 2048), random.log_uniform(1e-3, 50.0));
    const std::size_t cut = random.size(0, row.size());
    const std::span<const double> whole(row);
    const Survey joined = merge(survey(whole.first(cut)), survey(whole.subspan(cut)));
    const Survey once = survey(whole);
    EXPECT_EQ(joined.max, once.max);
    for (const double error :
         {relative_error(joined.tail, once.tail), relative_error(joined.moment, once.moment),
          relative_error(joined.entropy(), once.entropy())}) {
      EXPECT_LE(error, kBound);
      worst = std::max(worst, error);
    }
  });
  std::printf("worst difference of a split: %.1f eps of %.0f\n", worst / kEps, kBound / kEps);
}

TEST(SurveyLaws, MergingInAnyGroupingStaysWithinTheBound) {
  double worst = 0.0;
  for_each_seed(500, [&](Random& random) {
    const double spread = random.log_uniform(1e-3, 50.0);
    const Survey a = survey(random.row(random.size(0, 300), spread));
    const Survey b = survey(random.row(random.size(0, 300), spread));
    const Survey c = survey(random.row(random.size(1, 300), spread));
    const Survey left = merge(merge(a, b), c), right = merge(a, merge(b, c));
    EXPECT_EQ(left.max, right.max);
    for (const double error :
         {relative_error(left.tail, right.tail), relative_error(left.moment, right.moment)}) {
      EXPECT_LE(error, kBound);
      worst = std::max(worst, error);
    }
  });
  std::printf("worst difference of a grouping: %.1f eps of %.0f\n", worst / kEps, kBound / kEps);
}

TEST(SurveyLaws, MergeIsExactlyCommutativeAndTheEmptySurveyIsItsIdentity) {
  for_each_seed(200, [](Random& random) {
    const Survey a = survey(random.row(random.size(1, 50), 5.0));
    const Survey b = survey(random.row(random.size(1, 50), 5.0));
    const Survey ab = merge(a, b), ba = merge(b, a), same = merge(Survey{}, merge(a, Survey{}));
    EXPECT_EQ(ab.max, ba.max);
    EXPECT_EQ(ab.tail, ba.tail);
    EXPECT_EQ(ab.moment, ba.moment);
    EXPECT_EQ(same.max, a.max);
    EXPECT_EQ(same.tail, a.tail);
    EXPECT_EQ(same.moment, a.moment);
  });
  EXPECT_TRUE(merge(Survey{}, Survey{}).empty());
}

TEST(SurveyLaws, EntropyAndPeakAreThoseOfTheSoftmax) {
  for_each_seed(300, [](Random& random) {
    const Row row = random.row(random.size(2, 2048), random.log_uniform(1e-3, 50.0));
    const Survey found = survey(row);
    EXPECT_LE(relative_error(found.tail, oracle::tail(row)), kBound);
    EXPECT_LE(relative_error(found.entropy(), oracle::entropy(row)), kBound);
    EXPECT_LE(relative_error(found.peak_weight(), 1.0 / (1.0 + oracle::tail(row))), kBound);
    EXPECT_GE(found.peak_weight(), std::exp(-found.entropy()) * (1.0 - kBound));
  });
}

TEST(SurveyLaws, TheEntropyOfASharpRowKeepsItsDigits) {
  // H = log1p(t) + g t / (1 + t) with t = exp(-g): far below eps, yet known to the last digits.
  for (const double gap : {40.0, 100.0, 700.0}) {
    const double t = std::exp(-gap);
    EXPECT_LE(relative_error(survey(Row{0.0, -gap}).entropy(), t * (1.0 + gap)), 4.0 * kEps);
  }
}

TEST(SurveyLaws, ExactTiesCountAsTheyAre) {
  for (const std::size_t n : {1, 2, 3, 7, 1000}) {
    const Survey ties = survey(Row(n, 3.25));
    EXPECT_EQ(ties.tail, static_cast<double>(n - 1));
    EXPECT_EQ(ties.moment, 0.0);
    EXPECT_EQ(ties.entropy(), std::log1p(static_cast<double>(n - 1)));
  }
}

TEST(SurveyLaws, MaskedKeysLeaveNoTrace) {
  const Row row = {0.5, -1.0, 2.0};
  const Survey plain = survey(row), masked = survey(Row{-kInfinity, 0.5, -1.0, -kInfinity, 2.0});
  EXPECT_EQ(masked.max, plain.max);
  EXPECT_LE(relative_error(masked.tail, plain.tail), kBound);
  EXPECT_TRUE(survey(Row(5, -kInfinity)).empty());
  EXPECT_EQ(survey(Row(5, -kInfinity)).log_partition(), -kInfinity);
}

TEST(SurveyLaws, OneBadScorePoisonsTheRowAndIsNeverSilentlyDropped) {
  for (const double bad : {kInfinity, kNoValue}) {
    EXPECT_TRUE(std::isnan(survey_of(bad).entropy()));
    for (const Row& row : {Row{1.0, 2.0, bad}, Row{bad, 1.0}, Row{-kInfinity, bad, 3.0}}) {
      EXPECT_TRUE(std::isnan(survey(row).entropy()));
      EXPECT_TRUE(std::isnan(survey(row).peak_weight()));
      EXPECT_TRUE(std::isnan(survey(row).log_partition()));
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
