// Laws of rows whose keys are split: any number of ranks gives the same bits, and they are the weights of the specification.
#include "sharpmax/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "attention/parts/split_row.h"
#include "sharpmax/error.h"
#include "support/split_cases.h"

namespace sharpmax::test {
namespace {

// The specification in double, and sum of |w v| of each output.
void expect_specification(SplitCase& c, const AnyNormalizer& normalizer, const Tensor<double, 4>& out, double tolerance) {
  Tensor<double, 4> expected({1, 2, c.queries, kSplitValueFeatures});
  attend(ExactRequest(c).request, normalizer, expected);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(out.data()[i], expected.data()[i], tolerance) << normalizer.text() << ", element " << i;
}

// Weights are floats from exponentials good to 1.2 ulp, and values are of size 1; entropy_target and peak_target stop
// within 1e-6 of their targets, which moves weights by as much.
constexpr double kRounding = 4e-6;

TEST(SplitLaws, ThreadsAsRanksOfAnyNumberGiveTheSameBitsUnderEveryNormalizer) {
  SplitCase c = random_split_case(1, 5 * kShareKeys + 777, 1, 4.0);
  for (const std::string& text : split_rules()) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    Tensor<double, 4> alone;
    with_ranks(1, [&](Group& group) { alone = split_output(c, normalizer, group); });
    expect_specification(c, normalizer, alone, kRounding);
    for (int ranks = 2; ranks <= 9; ++ranks)
      with_ranks(ranks, [&](Group& group) {
        EXPECT_TRUE(same_tensor_bits(split_output(c, normalizer, group), alone)) << text << ", rank " << group.rank() << " of " << ranks;
      });
  }
}

TEST(SplitLaws, MasksAndCausalityHideKeysOfAllRanks) {
  SplitCase c = random_split_case(2, 2 * kShareKeys + 5, 3, 2.0);
  Random random(3);
  c.seen.resize(static_cast<std::size_t>(c.keys * c.queries));
  for (char& seen : c.seen) seen = random.uniform() < 0.4;
  std::fill_n(c.seen.begin(), kShareKeys, char{0});                             // query 0: a share without a key
  std::fill_n(c.seen.begin() + c.keys, c.keys, char{0});                        // query 1: no key at all
  c.causal = Causal::bottom_right;
  for (const std::string& text : split_rules()) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    with_ranks(3, [&](Group& group) {
      const Tensor<double, 4> out = split_output(c, normalizer, group);
      if (group.rank() == 2) expect_specification(c, normalizer, out, kRounding);
    });
  }
}

TEST(SplitLaws, OneShareGivesTheBitsOfAttend) {
  SplitCase c = random_split_case(4, 1000, 2, 3.0);
  for (const char* text : {"softmax", "entmax15", "entropy_target", "stick_breaking"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    const Tensor<float, 4> floats = attend(c.query, c.key, c.value, normalizer);
    Tensor<double, 4> expected({1, 2, c.queries, kSplitValueFeatures});
    std::copy_n(floats.data(), floats.size(), expected.data());
    with_ranks(3, [&](Group& group) { EXPECT_TRUE(same_tensor_bits(split_output(c, normalizer, group), expected)) << text; });
  }
}

TEST(SplitLaws, ABadScoreOnOneRankPoisonsTheRowOnAll) {
  SplitCase c = random_split_case(5, 2 * kShareKeys + 100, 1, 1.0);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    c.key(0, 0, c.keys - 1, 0) = bad;
    c.query(0, 0, 0, 0) = c.query(0, 1, 0, 0) = 1.0f;
    for (const std::string& text : split_rules())
      with_ranks(2, [&](Group& group) {
        const Tensor<double, 4> out = split_output(c, AnyNormalizer::parse(text), group);
        for (std::size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(std::isnan(out.data()[i])) << text;
      });
  }
}

// Many keys within reach of the threshold: tau is searched by sums instead of by a list.
TEST(SplitLaws, ThresholdsAreFoundAmongMoreCandidatesThanAListHolds) {
  SplitCase c = random_split_case(6, 2 * kShareKeys + 100, 1, 0.05);
  for (const char* text : {"sparsemax", "entmax15", "entmax:alpha=1.25", "entmax:alpha=3"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    with_ranks(2, [&](Group& group) { expect_specification(c, normalizer, split_output(c, normalizer, group), kRounding); });
  }
}

TEST(SplitLaws, EveryShareHasOneOwner) {
  for (std::int64_t shares = 0; shares < 200; ++shares)
    for (int size = 1; size <= 64; ++size) {
      std::int64_t next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const ShareRun run = shares_of_rank(shares, rank, size);
        ASSERT_EQ(run.begin, next);
        ASSERT_LE(run.begin, run.end);
        next = run.end;
      }
      ASSERT_EQ(next, shares);
    }
}

TEST(SplitLaws, ARankWithOtherKeysThanItsOwnIsRefused) {
  SplitCase c = random_split_case(7, 2 * kShareKeys, 1, 1.0);
  with_ranks(1, [&](Group& group) {
    Tensor<float, 4> out({1, 2, 1, kSplitValueFeatures});
    try {
      attend_split({c.query, c.key, c.value}, c.keys + 1, Softmax{}, group, out);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "attend_split: key has 32768 keys; this rank must have 32769, keys 0 to 32769 of 32769");
    }
  });
}

}  // namespace
}  // namespace sharpmax::test
