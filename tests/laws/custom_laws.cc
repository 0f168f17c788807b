// Laws of a rule of the caller's own: it is a value as every normalizer is, and keeps the semantics that
// all share.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "support/own_rules.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

// Weights that sum to 3, so that nothing else normalizes them behind the caller's back.
AnyNormalizer thirds() {
  const auto weigh = [](std::span<const double> scores, std::span<double> weights) {
    for (double& w : weights) w = 3.0 / static_cast<double>(scores.size());
  };
  return CustomNormalizer{.name = "thirds", .weigh = weigh};
}

TEST(CustomLaws, IsNamedByItsNameWhichParseDoesNotFind) {
  const AnyNormalizer normalizer = thirds();
  EXPECT_EQ(normalizer.name(), "thirds");
  EXPECT_EQ(normalizer.text(), "thirds");
  EXPECT_TRUE(normalizer.parameters().empty());
  EXPECT_THROW(AnyNormalizer::parse("thirds"), Error);
  for (const NormalizerInfo& member : family()) EXPECT_NE(member.name, "thirds");
}

TEST(CustomLaws, EqualsItsCopiesAndNothingElse) {
  const AnyNormalizer one = thirds(), other = thirds();
  AnyNormalizer copy = one;
  EXPECT_EQ(copy, one);
  EXPECT_NE(one, other) << "functions cannot be compared";
  EXPECT_NE(one, AnyNormalizer(Softmax{}));
  copy = Softmax{};
  EXPECT_EQ(copy, AnyNormalizer(Softmax{}));
  EXPECT_EQ(AnyNormalizer(Softmax{.beta = 2.0}), AnyNormalizer(Softmax{.beta = 2.0}));
}

TEST(CustomLaws, ACopyOutlivesTheOriginal) {
  AnyNormalizer copy = Softmax{};
  {
    const AnyNormalizer original = thirds();
    copy = original;
  }
  EXPECT_EQ(copy.text(), "thirds");
  EXPECT_EQ(normalize(std::vector<double>{1.0, 2.0}, copy), (std::vector<double>{1.5, 1.5}));
}

TEST(CustomLaws, SeesFiniteScoresOfUnmaskedKeysOnly) {
  std::vector<Row> seen;
  const AnyNormalizer spy = CustomNormalizer{
      .name = "spy", .weigh = [&](std::span<const double> scores, std::span<double> weights) {
        seen.emplace_back(scores.begin(), scores.end());
        weights[0] = 1.0;
      }};
  EXPECT_EQ(normalize(Row{-kInfinity, 2.0, -kInfinity, 3.0}, spy), (Row{0.0, 1.0, 0.0, 0.0}));
  EXPECT_EQ(normalize(Row{-kInfinity, -kInfinity}, spy), (Row{0.0, 0.0}));
  EXPECT_TRUE(normalize(Row{}, spy).empty());
  for (const double bad : {kInfinity, std::nan("")}) {
    for (const double w : normalize(Row{1.0, bad}, spy)) EXPECT_TRUE(std::isnan(w));
  }
  EXPECT_EQ(seen, (std::vector<Row>{{2.0, 3.0}}));
}

TEST(CustomLaws, WritesToZerosInEveryRow) {
  const auto expect_zeros = [](std::span<const double> row) {
    for (const double x : row) EXPECT_EQ(x, 0.0);
  };
  const AnyNormalizer normalizer = CustomNormalizer{
      .name = "first",
      .weigh =
          [&](std::span<const double>, std::span<double> weights) {
            expect_zeros(weights);
            weights[0] = 1.0;
          },
      .backward =
          [&](auto, auto, auto, std::span<double> d_scores) {
            expect_zeros(d_scores);
            d_scores[0] = 1.0;
          }};
  const Tensor<double, 4> scores({1, 1, 3, 5}, 1.0);
  Tensor<double, 4> written(scores.shape(), -1.0);
  normalize(scores, normalizer, written);
  for (int q = 0; q < 3; ++q) EXPECT_EQ(written(0, 0, q, 4), 0.0);
  normalize_backward(scores, normalizer, scores, written);
  for (int q = 0; q < 3; ++q) EXPECT_EQ(written(0, 0, q, 4), 0.0);
}

TEST(CustomLaws, AWeightThatIsNotFinitePoisonsItsRowAndNoOther) {
  const AnyNormalizer normalizer = CustomNormalizer{
      .name = "spoilt", .weigh = [](std::span<const double> scores, std::span<double> weights) {
        weights[0] = 1.0;
        if (scores[0] > 5.0) weights.back() = kInfinity;
      }};
  for (const int width : {1, 2, 9, 40}) {
    Tensor<float, 4> scores({1, 1, 3, width + 1});
    for (int q = 0; q < 3; ++q) scores(0, 0, q, 0) = -static_cast<float>(kInfinity);
    scores(0, 0, 1, 1) = 9.0f;
    Tensor<float, 4> weights(scores.shape());
    OwnedStatistics statistics({.peak_key = true, .mass = true}, scores.shape());
    const RowStatistics views = statistics.views();
    normalize(scores, normalizer, weights, &views);
    for (int j = 0; j < width + 1; ++j) {
      EXPECT_TRUE(std::isnan(weights(0, 0, 1, j)));
      for (const int q : {0, 2}) EXPECT_EQ(weights(0, 0, q, j), j == 1 ? 1.0f : 0.0f);
    }
    EXPECT_TRUE(std::isnan(statistics.mass(0, 0, 1)));
    EXPECT_EQ(statistics.peak_key(0, 0, 1), -1);
    EXPECT_EQ(statistics.peak_key(0, 0, 2), 1);
  }
}

TEST(CustomLaws, WeightsAreUsedAsTheyAreAndTheirSumIsTheMass) {
  const Tensor<float, 4> query({1, 1, 2, 4}, 1.0f), key({1, 1, 5, 4}, 0.5f), value({1, 1, 5, 4}, 2.0f);
  const auto [output, statistics] = attend(
      {query, key, value}, thirds(), {.entropy = true, .support = true, .mass = true, .temperature = true});
  for (const float x : output.elements()) EXPECT_FLOAT_EQ(x, 6.0f);
  for (int q = 0; q < 2; ++q) {
    EXPECT_NEAR(statistics.mass(0, 0, q), 3.0, 8.0 * kEps);
    EXPECT_NEAR(statistics.entropy(0, 0, q), std::log(5.0), 8.0 * kEps);
    EXPECT_EQ(statistics.support(0, 0, q), 5);
    EXPECT_TRUE(std::isnan(statistics.temperature(0, 0, q)));
  }
}

// Both sum n terms one after the other: (n + a few) eps, and eps more per unit of the gap in the exponent.
TEST(CustomLaws, AMemberWrittenAgainHasTheSameWeightsInDouble) {
  for (const AnyNormalizer& own : {own_softmax(), own_sparsemax()}) {
    for_each_seed(200, [&](Random& random) {
      const Row scores = random.row(random.size(1, 300), random.log_uniform(0.05, 8.0));
      const Row found = normalize(scores, own), wanted = normalize(scores, specification_of(own));
      double size = 1.0;
      for (const double e : scores) size = std::max(size, std::abs(e));
      const double bound = kEps * (static_cast<double>(scores.size()) + 8.0) * size;
      for (std::size_t j = 0; j < scores.size(); ++j) EXPECT_NEAR(found[j], wanted[j], bound) << own.text();
    });
  }
}

// A rule may be made of members of the family: calls within calls, from every thread.
TEST(CustomLaws, MayCallTheLibraryItselfFromManyThreads) {
  std::atomic<int> rows = 0;
  const AnyNormalizer mixture = CustomNormalizer{
      .name = "mixture",
      .weigh =
          [&](std::span<const double> scores, std::span<double> weights) {
            const Row soft = normalize(scores, Softmax{}), sparse = normalize(scores, Sparsemax{});
            for (std::size_t j = 0; j < weights.size(); ++j) weights[j] = 0.5 * (soft[j] + sparse[j]);
            ++rows;
          },
  };
  Tensor<float, 4> query({1, 8, 40, 4}), key({1, 8, 40, 4}), value({1, 8, 40, 4}, 1.0f);
  Random random(1);
  for (Tensor<float, 4>* tensor : {&query, &key}) {
    for (float& x : tensor->elements()) x = static_cast<float>(random.normal());
  }
  const Tensor<float, 4> alone = attend(query, key, value, mixture, {}, {.threads = 1});
  const Tensor<float, 4> together = attend(query, key, value, mixture, {}, {.threads = 4});
  EXPECT_TRUE(std::ranges::equal(alone.elements(), together.elements()));
  EXPECT_EQ(rows, 2 * 8 * 40);
  for (const float x : alone.elements()) EXPECT_NEAR(x, 1.0f, 1e-5f);
}

}  // namespace
}  // namespace sharpmax::test
