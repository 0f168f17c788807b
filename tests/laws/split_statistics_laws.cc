// Laws of statistics of rows whose keys are split: those of the specification, with the same bits for any number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sharpmax/error.h"
#include "support/split_cases.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kTopKeys = 10;  // more than top_k keeps: then keys without weight follow, lowest first

WantedStatistics all_row_statistics() {
  WantedStatistics wanted{.top = kTopKeys, .gap_counts = true};
  each_row_statistic([&](const auto& statistic) { wanted.*statistic.wish = true; });
  return wanted;
}

OwnedStatistics split_statistics(SplitCase& c, const AnyNormalizer& normalizer, Group& group) {
  OwnedStatistics statistics(all_row_statistics(), {1, 2, c.queries, c.keys});
  const RowStatistics views = statistics.views();
  split_output(c, normalizer, group, &views);
  return statistics;
}

OwnedStatistics specified_statistics(SplitCase& c, const AnyNormalizer& normalizer) {
  OwnedStatistics statistics(all_row_statistics(), {1, 2, c.queries, c.keys});
  const RowStatistics views = statistics.views();
  Tensor<double, 4> out({1, 2, c.queries, kSplitValueFeatures});
  attend(ExactRequest(c).request, normalizer, out, &views);
  return statistics;
}

// Weights of the split rows are good to a few 1e-7 (float exponentials), temperatures of targets to 1e-6 of their target.
void expect_close(double found, double expected, const std::string& what) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(found) : found == expected) << what << ": " << found << " for " << expected;
    return;
  }
  EXPECT_NEAR(found, expected, 4e-6 * std::max(1.0, std::abs(expected))) << what;
}

template <class T, std::size_t Rank>
void expect_all_close(const Tensor<T, Rank>& found, const Tensor<T, Rank>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if constexpr (std::is_same_v<T, double>)
      expect_close(found.data()[i], expected.data()[i], what);
    else
      EXPECT_EQ(found.data()[i], expected.data()[i]) << what << ", element " << i;
  }
}

void expect_statistics(const OwnedStatistics& found, const OwnedStatistics& expected, const std::string& text) {
  each_row_statistic([&](const auto& statistic) {
    expect_all_close(found.*statistic.tensor, expected.*statistic.tensor, text + ", " + statistic.name());
  });
  expect_all_close(found.top_keys, expected.top_keys, text + ", top keys");
  expect_all_close(found.top_weights, expected.top_weights, text + ", top weights");
  expect_all_close(found.gap_counts, expected.gap_counts, text + ", gap counts");
}

void expect_same_statistics(const OwnedStatistics& a, const OwnedStatistics& b, const std::string& what) {
  each_row_statistic([&](const auto& statistic) {
    EXPECT_TRUE(same_tensor_bits(a.*statistic.tensor, b.*statistic.tensor)) << what << ", " << statistic.name();
  });
  EXPECT_TRUE(same_tensor_bits(a.top_keys, b.top_keys) && same_tensor_bits(a.top_weights, b.top_weights)) << what << ", top keys";
  EXPECT_TRUE(same_tensor_bits(a.gap_counts, b.gap_counts)) << what << ", gap counts";
}

TEST(SplitStatisticsLaws, ThreadsAsRanksOfAnyNumberReportTheStatisticsOfTheSpecification) {
  SplitCase c = random_split_case(11, 5 * kShareKeys + 777, 1, 4.0);
  for (const std::string& text : split_rules()) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    OwnedStatistics alone;
    with_ranks(1, [&](Group& group) { alone = split_statistics(c, normalizer, group); });
    expect_statistics(alone, specified_statistics(c, normalizer), text);
    for (int ranks = 2; ranks <= 9; ++ranks)
      with_ranks(ranks, [&](Group& group) {
        expect_same_statistics(split_statistics(c, normalizer, group), alone,
                               text + ", rank " + std::to_string(group.rank()) + " of " + std::to_string(ranks));
      });
  }
}

TEST(SplitStatisticsLaws, MaskedAndEmptyRowsAndOneShareHaveTheirsToo) {
  SplitCase c = random_split_case(12, 2 * kShareKeys + 5, 3, 2.0);
  Random random(13);
  c.seen.resize(static_cast<std::size_t>(c.keys * c.queries));
  for (char& seen : c.seen) seen = random.uniform() < 0.4;
  c.seen[0] = 0;
  std::fill_n(c.seen.begin() + c.keys, c.keys, char{0});  // query 1: no key at all
  SplitCase small = random_split_case(14, 100, 2, 2.0);
  for (const std::string& text : split_rules()) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    with_ranks(3, [&](Group& group) {
      const OwnedStatistics found = split_statistics(c, normalizer, group);
      if (group.rank() == 1) expect_statistics(found, specified_statistics(c, normalizer), text);
      const OwnedStatistics of_one_share = split_statistics(small, normalizer, group);
      OwnedStatistics expected(all_row_statistics(), {1, 2, small.queries, small.keys});
      const RowStatistics views = expected.views();
      Tensor<float, 4> out({1, 2, small.queries, kSplitValueFeatures});
      attend(request_of(small, {0, small.keys}), normalizer, out, &views);
      expect_same_statistics(of_one_share, expected, text + ", one share");
    });
  }
}

// Under other scores the newest share takes nearly all of a stick. Here each key takes about 1/20,000 of it.
TEST(SplitStatisticsLaws, AStickThatReachesOverSharesHasTheWeightsOfTheSpecification) {
  SplitCase c = random_split_case(19, 4 * kShareKeys + 50, 2, 0.5);
  c.bias.assign(1, -10.0f);
  const AnyNormalizer normalizer = AnyNormalizer::parse("stick_breaking");
  const OwnedStatistics expected = specified_statistics(c, normalizer);
  for (const int ranks : {1, 3})
    with_ranks(ranks, [&](Group& group) {
      const OwnedStatistics found = split_statistics(c, normalizer, group);
      expect_statistics(found, expected, "stick_breaking");
      for (std::size_t i = 0; i < expected.top_weights.size(); ++i)  // weights are small: relative
        EXPECT_NEAR(found.top_weights.data()[i] / expected.top_weights.data()[i], 1.0, 1e-9);
    });
}

TEST(SplitStatisticsLaws, APoisonedRowHasNone) {
  SplitCase c = random_split_case(15, 2 * kShareKeys + 100, 1, 1.0);
  c.key(0, 0, c.keys - 1, 0) = std::numeric_limits<float>::quiet_NaN();
  for (const char* text : {"softmax", "entmax15", "entropy_target", "stick_breaking", "top_k"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    with_ranks(2, [&](Group& group) {
      expect_statistics(split_statistics(c, normalizer, group), specified_statistics(c, normalizer), text);
    });
  }
}

TEST(SplitStatisticsLaws, ColumnMassStaysWithTheKeys) {
  SplitCase c = random_split_case(16, 2 * kShareKeys + 50, 3, 2.0);
  const AnyNormalizer normalizer = AnyNormalizer::parse("entmax15");
  Tensor<double, 3> expected({1, 2, c.keys});
  Tensor<double, 4> out({1, 2, c.queries, kSplitValueFeatures});
  const RowStatistics specified{.column_mass = expected};
  attend(ExactRequest(c).request, normalizer, out, &specified);
  with_ranks(4, [&](Group& group) {
    const KeyRun run = keys_of_rank(c.keys, group.rank(), group.size());
    Tensor<double, 3> own({1, 2, run.size()}, -1.0);
    const RowStatistics wanted{.column_mass = own};
    split_output(c, normalizer, group, &wanted);
    for (std::int64_t head = 0; head < 2; ++head)
      for (std::int64_t key = 0; key < run.size(); ++key)
        ASSERT_NEAR(own(0, head, key), expected(0, head, run.begin + key), 1e-6);
  });
}

TEST(SplitStatisticsLaws, OnlyCountsAndPlacesCostAnotherRound) {
  SplitCase c = random_split_case(17, 3 * kShareKeys, 2, 2.0);
  with_ranks(2, [&](Group& group) {
    const auto rounds_with = [&](const WantedStatistics& wanted, const char* text) {
      OwnedStatistics statistics(wanted, {1, 2, c.queries, c.keys});
      const RowStatistics views = statistics.views();
      CountedGroup counted(group);
      split_output(c, AnyNormalizer::parse(text), counted, &views);
      return counted.traffic().rounds;
    };
    const std::int64_t softmax = rounds_with({}, "softmax");
    EXPECT_EQ(softmax, 2);  // one to agree on the call, one for the rows
    EXPECT_EQ(rounds_with({.log_partition = true, .entropy = true, .peak_weight = true, .mass = true}, "softmax"), softmax);
    EXPECT_EQ(rounds_with({.gap_counts = true}, "softmax"), softmax + 1);
    EXPECT_EQ(rounds_with({.peak_key = true, .support = true, .top = 3}, "stick_breaking"), softmax + 1);
  });
}

TEST(SplitStatisticsLaws, AMapIsRefusedOnAllRanksAndSoIsAMistakeOfOne) {
  SplitCase c = random_split_case(18, 2 * kShareKeys, 1, 1.0);
  const auto message_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  with_ranks(2, [&](Group& group) {
    Tensor<double, 4> map({1, 2, 1, 4});
    const RowStatistics wanted{.map = map};
    EXPECT_EQ(message_of([&] { split_output(c, Softmax{}, group, &wanted); }),
              "attend_split: statistics.map is not available over ranks; ask for column_mass of each rank's own keys");
    Tensor<double, 3> entropy({1, 2, group.rank() == 1 ? 5 : 1});
    const RowStatistics misfit{.entropy = entropy};
    EXPECT_NE(message_of([&] { split_output(c, Softmax{}, group, &misfit); }).find("statistics.entropy"), std::string::npos);
    const AnyNormalizer normalizer = AnyNormalizer::parse(group.rank() == 0 ? "softmax" : "hard");
    EXPECT_NE(message_of([&] { split_output(c, normalizer, group); }).find("they must agree"), std::string::npos);
  });
}

}  // namespace
}  // namespace sharpmax::test
