// Laws of Fold and ShareTree: the algebra that lets the keys of one row lie on several machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>
#include <vector>

#include "sharpmax/fold.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

constexpr std::size_t kFeatures = 5;

struct Keys {
  Row scores;
  std::vector<float> values;  // [key][feature]
};

Keys random_keys(Random& random, std::size_t count, double spread) {
  Keys keys{.scores = random.row(count, spread), .values = std::vector<float>(count * kFeatures)};
  for (float& value : keys.values) value = static_cast<float>(random.normal());
  return keys;
}

// A fold with memory of its own, made key by key.
struct OwnFold {
  std::vector<float> memory = std::vector<float>(kFeatures, 0.0f);
  Survey survey = {};

  Fold view() { return {survey, memory}; }
  void join(OwnFold& other) {
    Fold mine = view();
    merge(mine, other.view());
    survey = mine.survey;
  }
};

OwnFold fold_of(const Keys& keys, std::size_t begin, std::size_t end) {
  OwnFold fold;
  fold.survey = survey(std::span(keys.scores).subspan(begin, end - begin));
  for (std::size_t f = 0; f < kFeatures; ++f) {
    double sum = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      if (fold.survey.empty()) continue;
      sum += std::exp(keys.scores[k] - fold.survey.max) * static_cast<double>(keys.values[k * kFeatures + f]);
    }
    fold.memory[f] = static_cast<float>(sum);
  }
  return fold;
}

constexpr auto kJoin = [](OwnFold& into, OwnFold& from) { into.join(from); };

// Output of the softmax in double, and the sum of the absolute terms of each feature.
void expect_output(const Keys& keys, OwnFold& fold, double roundings, double& worst) {
  const double scale = fold.view().scale();
  for (std::size_t f = 0; f < kFeatures; ++f) {
    long double sum = 0.0L, size = 0.0L, partition = 0.0L;
    for (std::size_t k = 0; k < keys.scores.size(); ++k) {
      const long double weight = std::exp(keys.scores[k] - largest(keys.scores));
      partition += weight;
      sum += weight * keys.values[k * kFeatures + f];
      size += weight * std::abs(keys.values[k * kFeatures + f]);
    }
    const double error = std::abs(scale * fold.memory[f] - static_cast<double>(sum / partition));
    const double unit = 0x1p-24 * static_cast<double>(size / partition);
    EXPECT_LE(error, roundings * unit);
    worst = std::max(worst, error / unit);
  }
}

TEST(FoldLaws, SharesOfAnySizeMergedAlongTheTreeGiveTheOutputOfTheWholeRow) {
  double worst = 0.0;
  for_each_seed(300, [&](Random& random) {
    const Keys keys = random_keys(random, random.size(1, 600), random.log_uniform(1e-2, 30.0));
    std::vector<std::size_t> cuts = {0, keys.scores.size()};
    for (std::size_t i = random.size(0, 20); i > 0; --i) cuts.push_back(random.size(0, keys.scores.size()));
    std::sort(cuts.begin(), cuts.end());
    const auto shares = static_cast<std::int64_t>(cuts.size()) - 1;
    std::vector<OwnFold> slots(ShareTree<OwnFold>::slots_for(shares));
    ShareTree<OwnFold> tree(slots);
    for (std::int64_t s = 0; s < shares; ++s) {
      const auto at = static_cast<std::size_t>(s);
      tree.next(s, kJoin) = fold_of(keys, cuts[at], cuts[at + 1]);
    }
    // A sum is rounded once in its share, and by each of at most five joins: its factor, the product, the sum.
    expect_output(keys, tree.finish(kJoin), 1.0 + 3.0 * 5.0, worst);
  });
  std::printf("worst error of folded shares: %.1f half ulps of 16\n", worst);
}

TEST(FoldLaws, MergeIsExactlyCommutativeAndTheEmptyFoldIsItsIdentity) {
  for_each_seed(200, [](Random& random) {
    const Keys keys = random_keys(random, random.size(2, 40), 5.0);
    const std::size_t cut = random.size(1, keys.scores.size() - 1);
    OwnFold a = fold_of(keys, 0, cut), b = fold_of(keys, cut, keys.scores.size()), none;
    a.memory[0] = -0.0f;  // a sum whose sign only a copy keeps
    OwnFold ab = a, ba = b, same = a, copied = none;
    ab.join(b);
    ba.join(a);
    same.join(none);
    copied.join(a);
    EXPECT_EQ(ab.survey.tail, ba.survey.tail);
    EXPECT_EQ(ab.memory, ba.memory);
    for (const OwnFold& found : {same, copied}) {
      EXPECT_EQ(found.survey.tail, a.survey.tail);
      EXPECT_TRUE(std::equal(a.memory.begin(), a.memory.end(), found.memory.begin(), [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
      }));
    }
  });
  EXPECT_EQ(Fold{}.scale(), 0.0);
}

TEST(FoldLaws, APoisonedShareMakesNaNOfEveryFeatureInEitherOrder) {
  for (const double bad : {kInfinity, kNoValue}) {
    const Keys good{.scores = {1.0, 2.0}, .values = std::vector<float>(2 * kFeatures, 1.0f)};
    const Keys poisoned{.scores = {bad}, .values = std::vector<float>(kFeatures, 1.0f)};
    OwnFold first = fold_of(good, 0, 2), second = fold_of(poisoned, 0, 1);
    OwnFold ab = first, ba = second;
    ab.join(second);
    ba.join(first);
    for (OwnFold& joined : {std::ref(ab), std::ref(ba)}) {
      EXPECT_TRUE(std::isnan(joined.view().scale()));
      for (const float x : joined.memory) EXPECT_TRUE(std::isnan(x));
    }
  }
}

TEST(FoldLaws, ASinkTakesItsShareOfTheWeight) {
  OwnFold fold = fold_of({.scores = {0.5, -1.0}, .values = std::vector<float>(2 * kFeatures, 1.0f)}, 0, 2);
  EXPECT_NEAR(fold.view().scale(3.0), 1.0 / (1.0 + std::exp(-1.5) + 3.0 * std::exp(-0.5)), 4.0 * kEps);
}

// The tree as ShareTree documents it, written as text: shares [first, first + size), size a power of two.
std::string node(const std::vector<char>& present, std::size_t first, std::size_t size) {
  if (first >= present.size()) return "";
  if (size == 1) return present[first] ? std::to_string(first) : "";
  const std::string left = node(present, first, size / 2), right = node(present, first + size / 2, size / 2);
  return left.empty() || right.empty() ? left + right : "(" + left + " " + right + ")";
}

constexpr auto kWrite = [](std::string& into, const std::string& from) { into = "(" + into + " " + from + ")"; };

std::string text_of_tree(const std::vector<char>& present, std::size_t begin, std::size_t end) {
  std::vector<std::string> slots(ShareTree<std::string>::slots_for(static_cast<std::int64_t>(present.size())));
  ShareTree<std::string> tree(slots);
  for (std::size_t s = begin; s < end; ++s) {
    if (!present[s]) continue;
    std::string& slot = tree.next(static_cast<std::int64_t>(s), kWrite);
    EXPECT_LT(&slot - slots.data(), static_cast<std::ptrdiff_t>(slots.size()));
    slot = std::to_string(s);
  }
  return tree.finish(kWrite);
}

TEST(ShareTreeLaws, TheOrderDependsOnTheNumbersOfTheSharesAlone) {
  for_each_seed(400, [](Random& random) {
    std::vector<char> present(random.size(1, 70), 1);
    const double missing = random.uniform() < 0.5 ? 0.0 : random.uniform();
    for (char& p : present) p = random.uniform() >= missing;
    present[random.size(0, present.size() - 1)] = 1;
    EXPECT_EQ(text_of_tree(present, 0, present.size()), node(present, 0, 128));
  });
}

TEST(ShareTreeLaws, OwnersOfRunsOfSharesHandOnNodesThatFoldToTheSameTree) {
  for_each_seed(400, [](Random& random) {
    const std::vector<char> present(random.size(1, 70), 1);
    const auto shares = static_cast<std::int64_t>(present.size());
    std::vector<std::string> slots(ShareTree<std::string>::slots_for(shares));
    ShareTree<std::string> tree(slots);
    for (std::int64_t begin = 0; begin < shares;) {
      const auto end = static_cast<std::int64_t>(random.size(static_cast<std::size_t>(begin) + 1, present.size()));
      for_each_share_node(begin, end, shares, [&](std::int64_t first, std::int64_t last) {
        tree.next(first, kWrite) =
            text_of_tree(present, static_cast<std::size_t>(first), static_cast<std::size_t>(last));
      });
      begin = end;
    }
    EXPECT_EQ(tree.finish(kWrite), node(present, 0, 128));
  });
}

TEST(ShareTreeLaws, AnAlignedPowerOfTwoOfSharesIsOneNodeAndSoIsTheRestOfTheRow) {
  const auto nodes = [](std::int64_t begin, std::int64_t end, std::int64_t shares) {
    int count = 0;
    for_each_share_node(begin, end, shares, [&](std::int64_t, std::int64_t) { ++count; });
    return count;
  };
  EXPECT_EQ(nodes(0, 8, 64), 1);
  EXPECT_EQ(nodes(40, 48, 64), 1);
  EXPECT_EQ(nodes(0, 61, 61), 1);
  EXPECT_EQ(nodes(32, 61, 61), 1);
  EXPECT_EQ(nodes(0, 7, 64), 3);  // 4, 2 and 1
  EXPECT_EQ(nodes(1, 8, 64), 3);
}

TEST(ShareTreeLaws, ARowOfAtMostOneShareOfKeysIsOneShare) {
  EXPECT_EQ(shares_of(0), 0);
  EXPECT_EQ(shares_of(1), 1);
  EXPECT_EQ(shares_of(kShareKeys), 1);
  EXPECT_EQ(shares_of(kShareKeys + 1), 2);
}

}  // namespace
}  // namespace sharpmax::test
