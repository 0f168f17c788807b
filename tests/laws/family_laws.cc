// Laws that hold across the family: what a permutation, a shift, a mask or a bad score may do.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "support/settings.h"

namespace sharpmax::test {
namespace {

// Weights are below one. Direct formulas differ by the rounding of their sums; a searched temperature
// is known to a few eps plus that of its target over its slope.
double rounding_of(const Setting& setting) { return setting.searched ? 1e-12 : 64.0 * kEps; }

Row random_scores(Random& random, const AnyNormalizer& normalizer) {
  return scores_for(normalizer, random.row(random.size(1, 60), random.log_uniform(0.05, 8.0)));
}

TEST(FamilyLaws, EveryMemberIsAmongTheSettings) {
  std::set<std::string_view> covered;
  for_each_setting(
      [&](const Setting&, const AnyNormalizer& normalizer) { covered.insert(normalizer.name()); });
  for (const NormalizerInfo& member : family()) EXPECT_TRUE(covered.contains(member.name)) << member.name;
  EXPECT_EQ(covered.size(), 19u);
}

TEST(FamilyLaws, WeightsHaveTheMassThatIsStated) {
  for_each_setting([](const Setting& setting, const AnyNormalizer& normalizer) {
    for_each_seed(100, [&](Random& random) {
      const Row weights = weigh(normalizer, random_scores(random, normalizer)).weights;
      const double mass = oracle::sum(weights);
      if (setting.mass == Mass::one) {
        EXPECT_NEAR(mass, 1.0, 4.0 * kEps);
      }
      if (setting.mass == Mass::at_most_one) {
        EXPECT_LE(mass, 1.0 + 4.0 * kEps);
      }
      if (setting.nonnegative) {
        EXPECT_GE(*std::min_element(weights.begin(), weights.end()), 0.0);
      }
    });
  });
}

TEST(FamilyLaws, PermutingTheKeysPermutesTheWeights) {
  for_each_setting([](const Setting& setting, const AnyNormalizer& normalizer) {
    bool order_mattered = false;
    for_each_seed(50, [&](Random& random) {
      const Row scores = random_scores(random, normalizer);
      std::vector<std::size_t> order(scores.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.size(0, i - 1)]);
      Row shuffled;
      for (const std::size_t j : order) shuffled.push_back(scores[j]);
      const Row plain = weigh(normalizer, scores).weights, moved = weigh(normalizer, shuffled).weights;
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (setting.symmetric) {
          EXPECT_NEAR(moved[i], plain[order[i]], rounding_of(setting));
        }
        order_mattered = order_mattered || std::abs(moved[i] - plain[order[i]]) > 0.01;
      }
    });
    EXPECT_EQ(order_mattered, !setting.symmetric);
  });
}

TEST(FamilyLaws, AddingAConstantChangesNothingExactlyWhereItIsSaidTo) {
  for_each_setting([](const Setting& setting, const AnyNormalizer& normalizer) {
    bool shift_mattered = false;
    for_each_seed(50, [&](Random& random) {
      const Row scores = scores_for(normalizer, random.grid_row(random.size(2, 40), 2.0));
      const double shift = static_cast<double>(random.size(1, 1000));
      Row shifted = scores;
      for (double& e : shifted) e += shift;  // exact on the grid: so must the weights be
      const Row plain = weigh(normalizer, scores).weights, moved = weigh(normalizer, shifted).weights;
      if (setting.shift_invariant) {
        EXPECT_EQ(moved, plain);
      }
      shift_mattered = shift_mattered || moved != plain;
    });
    EXPECT_EQ(shift_mattered, !setting.shift_invariant);
  });
}

TEST(FamilyLaws, ALargerScoreNeverHasASmallerWeight) {
  for_each_setting([](const Setting& setting, const AnyNormalizer& normalizer) {
    bool order_broken = false;
    for_each_seed(50, [&](Random& random) {
      const Row scores = random_scores(random, normalizer);
      const Row weights = weigh(normalizer, scores).weights;
      std::vector<std::size_t> by_score(scores.size());
      std::iota(by_score.begin(), by_score.end(), std::size_t{0});
      std::sort(by_score.begin(), by_score.end(), [&](auto i, auto j) { return scores[i] < scores[j]; });
      const bool sorted = std::is_sorted(by_score.begin(), by_score.end(),
                                         [&](auto i, auto j) { return weights[i] < weights[j]; });
      if (setting.monotone) {
        EXPECT_TRUE(sorted);
      }
      order_broken = order_broken || !sorted;
    });
    EXPECT_EQ(order_broken, !setting.monotone);
  });
}

TEST(FamilyLaws, MaskedKeysGetNothingAndChangeNothing) {
  for_each_setting([](const Setting&, const AnyNormalizer& normalizer) {
    for_each_seed(20, [&](Random& random) {
      const Row scores = random_scores(random, normalizer);
      const Weighed plain = weigh(normalizer, scores);
      Row with_masks;
      std::vector<std::size_t> place;
      for (const double e : scores) {
        with_masks.resize(with_masks.size() + random.size(0, 3), -kInfinity);
        place.push_back(with_masks.size());
        with_masks.push_back(e);
      }
      with_masks.push_back(-kInfinity);
      const Weighed masked = weigh(normalizer, with_masks);
      for (std::size_t j = 0; j < scores.size(); ++j) EXPECT_EQ(masked.weights[place[j]], plain.weights[j]);
      for (std::size_t j = 0; j < with_masks.size(); ++j) {
        if (with_masks[j] == -kInfinity) {
          EXPECT_EQ(masked.weights[j], 0.0);
        }
      }
      if (!std::isnan(plain.facts.temperature)) {
        EXPECT_EQ(masked.facts.temperature, plain.facts.temperature);
      }
    });
  });
}

TEST(FamilyLaws, ARowWithEveryKeyMaskedIsZeros) {
  for_each_setting([](const Setting&, const AnyNormalizer& normalizer) {
    for (const std::size_t n : {0, 1, 5}) {
      const Weighed empty = weigh(normalizer, Row(n, -kInfinity));
      EXPECT_EQ(empty.weights, Row(n, 0.0));
      EXPECT_EQ(empty.facts.log_partition, -kInfinity);
      Row d_scores(n, 7.0), d_parameters(normalizer.parameters().size(), 0.0);
      backward_row(normalizer, 0, Row(n, -kInfinity), empty.weights, Row(n, 1.0), d_scores, d_parameters);
      EXPECT_EQ(d_scores, Row(n, 0.0));
      EXPECT_EQ(d_parameters, Row(d_parameters.size(), 0.0));
    }
  });
}

TEST(FamilyLaws, ABadScorePoisonsTheWholeRow) {
  for_each_setting([](const Setting&, const AnyNormalizer& normalizer) {
    for (const double bad : {kInfinity, kNoValue}) {
      const Row scores = {1.0, bad, -kInfinity, 0.5};
      const Weighed poisoned = weigh(normalizer, scores);
      Row d_scores(4);
      backward_row(normalizer, 0, scores, poisoned.weights, Row(4, 1.0), d_scores, {});
      for (std::size_t j = 0; j < 4; ++j) {
        EXPECT_TRUE(std::isnan(poisoned.weights[j]));
        EXPECT_TRUE(std::isnan(d_scores[j]));
      }
    }
  });
}

TEST(FamilyLaws, OneKeyAloneGetsAllThereIs) {
  for_each_setting([](const Setting& setting, const AnyNormalizer& normalizer) {
    for (const double e : {0.75, 3.0, 700.0}) {
      const double weight = weigh(normalizer, {e}).weights[0];
      if (setting.mass == Mass::one) {
        EXPECT_EQ(weight, 1.0);
      }
      if (setting.nonnegative) {
        EXPECT_GE(weight, 0.0);
      }
      EXPECT_TRUE(std::isfinite(weight));
    }
  });
}

TEST(FamilyLaws, ScoresOfAnyFiniteSizeGiveFiniteWeights) {
  const std::vector<Row> extremes = {
      {1e308, -1e308, 0.0},     {-1e308, -1e308, -1e308}, {745.0, 0.0, -745.0},     {5e-324, 0.0, -5e-324},
      {1e4, 1e4 - 1e-11, -1e4}, {-800.0, -801.0, -900.0}, {710.0, 709.5, 1.0, 2.0}, {0.0, 0.0, 0.0}};
  for_each_setting([&](const Setting& setting, const AnyNormalizer& normalizer) {
    if (!setting.nonnegative) return;  // e times a weight has no bound of its own
    for (const Row& row : extremes) {
      const Row scores = normalizer.name() == "linear" ? scores_for(normalizer, {745.0, 1e-300, 3.0}) : row;
      const Row weights = weigh(normalizer, scores).weights;
      for (const double w : weights) EXPECT_TRUE(std::isfinite(w)) << ::testing::PrintToString(row);
      if (setting.mass == Mass::one) {
        EXPECT_NEAR(oracle::sum(weights), 1.0, 4.0 * kEps);
      }
    }
  });
}

TEST(FamilyLaws, LongRowsKeepTheirMass) {
  Random random(1);
  const Row normals = random.row(200'000, 1.0);
  for_each_setting([&](const Setting& setting, const AnyNormalizer& normalizer) {
    const Row weights = weigh(normalizer, scores_for(normalizer, normals)).weights;
    if (setting.mass == Mass::one) {
      EXPECT_NEAR(oracle::sum(weights), 1.0, 8.0 * kEps);
    }
    if (setting.mass == Mass::at_most_one) {
      EXPECT_LE(oracle::sum(weights), 1.0 + 8.0 * kEps);
    }
    for (const double w : weights) ASSERT_TRUE(std::isfinite(w));
  });
}

TEST(FamilyLaws, ThePeakOfADistributionIsAtLeastTheExponentialOfMinusItsEntropy) {
  for_each_setting([](const Setting& setting, const AnyNormalizer& normalizer) {
    if (setting.mass != Mass::one) return;
    for_each_seed(50, [&](Random& random) {
      const Row weights = weigh(normalizer, random_scores(random, normalizer)).weights;
      EXPECT_GE(largest(weights), std::exp(-oracle::entropy_of_weights(weights)) * (1.0 - 8.0 * kEps));
    });
  });
}

}  // namespace
}  // namespace sharpmax::test
