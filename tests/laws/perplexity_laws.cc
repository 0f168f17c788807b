// Laws of losses by position: buckets part the tokens, their means are means, their intervals cover.
#include <gtest/gtest.h>

#include <cmath>

#include "model/generation/generate.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

std::vector<ChunkLosses> chunks_of(Random& random, std::size_t count, std::size_t tokens, double mean) {
  std::vector<ChunkLosses> chunks(count);
  for (ChunkLosses& chunk : chunks)
    for (std::size_t i = 1; i < tokens; ++i)
      chunk.losses.push_back(static_cast<float>(mean + random.normal()));
  return chunks;
}

TEST(PerplexityLaws, BucketsPartTheTokensAndKeepTheirSum) {
  for_each_seed(20, [](Random& random) {
    const auto chunks = chunks_of(random, random.size(1, 4), random.size(2, 3000), 3);
    const PositionBucket all = bucket_of_all(chunks);
    std::size_t tokens = 0;
    for (const auto& chunk : chunks) tokens += chunk.losses.size();
    EXPECT_EQ(all.tokens, static_cast<std::int64_t>(tokens));
    std::int64_t in_buckets = 0, next = 0;
    double sum = 0;
    for (const PositionBucket& bucket : buckets_of(chunks)) {
      EXPECT_EQ(bucket.from, next);
      EXPECT_GT(bucket.tokens, 0);
      next = bucket.to;
      in_buckets += bucket.tokens;
      sum += bucket.loss * static_cast<double>(bucket.tokens);
    }
    EXPECT_EQ(in_buckets, all.tokens);
    EXPECT_NEAR(sum / static_cast<double>(all.tokens), all.loss, 1e-9);
  });
}

TEST(PerplexityLaws, ATokenIsInTheBucketOfHowManyStandBeforeIt) {
  std::vector<ChunkLosses> chunks(1);
  for (int before = 1; before <= 600; ++before)
    chunks[0].losses.push_back(before < 128 ? 1.0f : before < 512 ? 2.0f : 3.0f);
  const auto buckets = buckets_of(chunks);
  ASSERT_EQ(buckets.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(buckets[i].loss, static_cast<double>(i + 1));
  EXPECT_EQ(buckets[0].tokens, 127);
  EXPECT_EQ(buckets[1].tokens, 384);
}

TEST(PerplexityLaws, NineteenOfTwentyIntervalsCoverTheMean) {
  int covered = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial));
    const PositionBucket all = bucket_of_all(chunks_of(random, 2, 330, 3));
    covered += all.low <= 3 && 3 <= all.high;
  }
  // 95 % less five standard deviations; and not all, or they are too wide.
  EXPECT_GE(covered, 358);
  EXPECT_LT(covered, kTrials);
}

TEST(PerplexityLaws, FewerThanTwoRunsHaveNoInterval) {
  Random random(1);
  EXPECT_TRUE(std::isnan(bucket_of_all(chunks_of(random, 1, 40, 3)).low));
  EXPECT_FALSE(std::isnan(bucket_of_all(chunks_of(random, 1, 70, 3)).low));
}

TEST(PerplexityLaws, LossIsMinusTheLogarithmOfTheProbability) {
  for_each_seed(20, [](Random& random) {
    std::vector<float> logits;
    for (int i = 0; i < 300; ++i) logits.push_back(static_cast<float>(random.normal() * 30));
    double largest = -1e300, sum = 0;
    for (const float l : logits) largest = std::max(largest, static_cast<double>(l));
    for (const float l : logits) sum += std::exp(l - largest);
    const auto token = static_cast<model::Token>(random.size(0, 299));
    const double wanted = largest + std::log(sum) - logits[static_cast<std::size_t>(token)];
    EXPECT_NEAR(model::loss_of(logits, token), wanted, 1e-5);
    logits[7] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(model::loss_of(logits, 3))) << "a poisoned row was given a loss";
  });
}

}  // namespace
}  // namespace sharpmax::test
