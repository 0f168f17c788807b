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
#include "normalizer/definition.h"
#include "sharpmax/error.h"
#include "support/random.h"
#include "support/thread_group.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kFeatures = 3, kValueFeatures = 2;

// Keys that lie on several ranks, all of which are here.
struct Case {
  std::int64_t keys = 0, queries = 1;
  Tensor<float, 4> query, key, value;
  std::vector<char> seen;  // [query, key]: mask; empty: none
  Causal causal = Causal::none;
};

Case random_case(std::uint64_t seed, std::int64_t keys, std::int64_t queries, double spread) {
  Random random(seed);
  Case c{.keys = keys,
         .queries = queries,
         .query = Tensor<float, 4>({1, 2, queries, kFeatures}),
         .key = Tensor<float, 4>({1, 1, keys, kFeatures}),
         .value = Tensor<float, 4>({1, 1, keys, kValueFeatures})};
  for (auto* tensor : {&c.query, &c.key, &c.value})
    for (std::size_t i = 0; i < tensor->size(); ++i) tensor->data()[i] = static_cast<float>(random.normal());
  for (std::size_t i = 0; i < c.query.size(); ++i) c.query.data()[i] *= static_cast<float>(spread);
  return c;
}

// In double, so that the order of sums is seen.
Tensor<double, 4> split_output(Case& c, const AnyNormalizer& normalizer, Group& group) {
  const KeyRun run = keys_of_rank(c.keys, group.rank(), group.size());
  const auto own = [&](Tensor<float, 4>& all, std::int64_t features) {
    return TensorView<const float, 4>(all.data() + run.begin * features, {1, 1, run.size(), features});
  };
  AttentionOptions options{.causal = c.causal};
  const std::vector<char> mask(c.seen);
  if (!c.seen.empty())
    options.mask = TensorView<const bool, 4>(reinterpret_cast<const bool*>(mask.data()) + run.begin,
                                             {1, 1, c.queries, run.size()}, {0, 0, c.keys, 1});
  Tensor<double, 4> out({1, 2, c.queries, kValueFeatures}, -1.0);
  attend_split({c.query, own(c.key, kFeatures), own(c.value, kValueFeatures), options}, c.keys, normalizer, group, out,
               {.threads = 1});
  return out;
}

// The specification in double, and sum of |w v| of each output.
void expect_specification(Case& c, const AnyNormalizer& normalizer, const Tensor<double, 4>& out, double tolerance) {
  Tensor<double, 4> q({1, 2, c.queries, kFeatures}), k({1, 1, c.keys, kFeatures}), v({1, 1, c.keys, kValueFeatures});
  const auto widen = [](Tensor<float, 4>& from, Tensor<double, 4>& to) {
    std::copy_n(from.data(), from.size(), to.data());
  };
  widen(c.query, q);
  widen(c.key, k);
  widen(c.value, v);
  AttentionOptions options{.causal = c.causal};
  if (!c.seen.empty())
    options.mask = TensorView<const bool, 4>(reinterpret_cast<const bool*>(c.seen.data()), {1, 1, c.queries, c.keys});
  Tensor<double, 4> expected({1, 2, c.queries, kValueFeatures});
  attend({q, k, v, options}, normalizer, expected);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(out.data()[i], expected.data()[i], tolerance) << normalizer.text() << ", element " << i;
}

bool equal_bits(const Tensor<double, 4>& a, const Tensor<double, 4>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// Weights are floats from exponentials good to 1.2 ulp, and values are of size 1; entropy_target and peak_target stop
// within 1e-6 of their targets, which moves weights by as much.
constexpr double kRounding = 4e-6;

std::vector<std::string> split_rules() {
  std::vector<std::string> texts;
  for (const NormalizerInfo& info : family()) texts.emplace_back(info.name);
  for (const char* text : {"softmax:beta=2.5", "softmax:beta=0", "entropy_target:nats=2", "peak_target:weight=0.9", "entmax:alpha=1.25",
                           "entmax:alpha=2", "entmax:alpha=3", "top_k:k=5,beta=2", "sink:c=0.1", "self_adjust:form=plain"})
    texts.emplace_back(text);
  return texts;
}

TEST(SplitLaws, ThreadsAsRanksOfAnyNumberGiveTheSameBitsUnderEveryNormalizer) {
  Case c = random_case(1, 5 * kShareKeys + 777, 1, 4.0);
  for (const std::string& text : split_rules()) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    Tensor<double, 4> alone;
    with_ranks(1, [&](Group& group) { alone = split_output(c, normalizer, group); });
    expect_specification(c, normalizer, alone, kRounding);
    for (int ranks = 2; ranks <= 9; ++ranks)
      with_ranks(ranks, [&](Group& group) {
        EXPECT_TRUE(equal_bits(split_output(c, normalizer, group), alone)) << text << ", rank " << group.rank() << " of " << ranks;
      });
  }
}

TEST(SplitLaws, MasksAndCausalityHideKeysOfAllRanks) {
  Case c = random_case(2, 2 * kShareKeys + 5, 3, 2.0);
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
  Case c = random_case(4, 1000, 2, 3.0);
  for (const char* text : {"softmax", "entmax15", "entropy_target", "stick_breaking"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    const Tensor<float, 4> floats = attend(c.query, c.key, c.value, normalizer);
    Tensor<double, 4> expected({1, 2, c.queries, kValueFeatures});
    std::copy_n(floats.data(), floats.size(), expected.data());
    with_ranks(3, [&](Group& group) { EXPECT_TRUE(equal_bits(split_output(c, normalizer, group), expected)) << text; });
  }
}

TEST(SplitLaws, ABadScoreOnOneRankPoisonsTheRowOnAll) {
  Case c = random_case(5, 2 * kShareKeys + 100, 1, 1.0);
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
  Case c = random_case(6, 2 * kShareKeys + 100, 1, 0.05);
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
  Case c = random_case(7, 2 * kShareKeys, 1, 1.0);
  with_ranks(1, [&](Group& group) {
    Tensor<float, 4> out({1, 2, 1, kValueFeatures});
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
