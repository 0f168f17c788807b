// Laws of the backward of rows whose keys are split: the gradients of the specification, the same bits for any number of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sharpmax/error.h"
#include "support/split_cases.h"

namespace sharpmax::test {
namespace {

// Gradients over all keys.
struct SplitGradients {
  SplitGradients(const SplitCase& c, const AnyNormalizer& normalizer)
      : query({1, 2, c.queries, kSplitFeatures}),
        key({1, 1, c.keys, kSplitFeatures}),
        value({1, 1, c.keys, kSplitValueFeatures}),
        bias({1, c.bias.size() > 1 ? 2 : 1, 1, c.bias.size() > 1 ? c.keys : 1}),
        parameters({static_cast<std::int64_t>(normalizer.parameters().size()), 2}) {}

  Tensor<double, 4> query, key, value, bias;
  Tensor<double, 2> parameters;
};

std::vector<std::string> rules_with_gradient() {
  std::vector<std::string> texts = split_rules();
  std::erase(texts, "entmax:alpha=3");
  for (const char* text : {"adaptive:gradient=full", "entropy_target:nats=2,gradient=full", "peak_target:weight=0.9,gradient=full",
                           "sigmoid:b=-3", "asentmax:alpha=1.7", "entropy_target:nats=100,gradient=full"})
    texts.emplace_back(text);
  return texts;
}

Tensor<double, 4> d_out_of(const SplitCase& c) {
  Random random(99);
  Tensor<double, 4> d_out({1, 2, c.queries, kSplitValueFeatures});
  for (double& d : d_out.elements()) d = random.normal();
  return d_out;
}

SplitGradients specified_gradients(SplitCase& c, const AnyNormalizer& normalizer) {
  SplitGradients g(c, normalizer);
  Tensor<double, 4> d_out = d_out_of(c);
  const ExactRequest exact(c);
  attend_backward(exact.request, normalizer, d_out,
                  {.query = g.query,
                   .key = g.key,
                   .value = g.value,
                   .bias = c.bias.empty() ? AnyMutableTensor<4>() : AnyMutableTensor<4>(g.bias),
                   .parameters = g.parameters});
  return g;
}

// This rank's part of `all` is written; the rest stays.
void split_backward(SplitCase& c, const AnyNormalizer& normalizer, Group& group, SplitGradients& all) {
  const KeyRun run = keys_of_rank(c.keys, group.rank(), group.size());
  const auto own = [&](Tensor<double, 4>& tensor, std::int64_t features) {
    return TensorView<double, 4>(tensor.data() + run.begin * features, {1, 1, run.size(), features});
  };
  Tensor<double, 4> d_out = d_out_of(c), d_query(all.query.shape());
  Tensor<double, 2> d_parameters(all.parameters.shape());
  AttentionGradients wanted{.query = d_query,
                            .key = own(all.key, kSplitFeatures),
                            .value = own(all.value, kSplitValueFeatures),
                            .parameters = d_parameters};
  Tensor<double, 4> d_one({1, 1, 1, 1});
  if (c.bias.size() > 1)
    wanted.bias = TensorView<double, 4>(all.bias.data() + run.begin, {1, 2, 1, run.size()}, {2 * c.keys, c.keys, c.keys, 1});
  if (c.bias.size() == 1) wanted.bias = d_one;
  attend_split_backward(request_of(c, run), c.keys, normalizer, group, d_out, wanted, {.threads = 1});
  if (group.rank() != group.size() / 2) return;  // what all ranks have: any one's will do
  all.query = d_query;
  all.parameters = d_parameters;
  if (c.bias.size() == 1) all.bias = d_one;
}

// Relative to the largest gradient of the tensor, from weights good to a few 1e-7; temperatures of targets are good to 1e-6
// of the target, and multiply.
template <std::size_t Rank>
void expect_near(const Tensor<double, Rank>& found, const Tensor<double, Rank>& expected, const std::string& what) {
  double largest = 1.0;
  for (const double g : expected.elements()) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found.data()[i], expected.data()[i], 1e-5 * largest) << what << ", element " << i;
}

void expect_near(const SplitGradients& found, const SplitGradients& expected, const std::string& text) {
  expect_near(found.query, expected.query, text + ", query");
  expect_near(found.key, expected.key, text + ", key");
  expect_near(found.value, expected.value, text + ", value");
  expect_near(found.bias, expected.bias, text + ", bias");
  expect_near(found.parameters, expected.parameters, text + ", parameters");
}

bool same_gradients(const SplitGradients& a, const SplitGradients& b) {
  return same_tensor_bits(a.query, b.query) && same_tensor_bits(a.key, b.key) && same_tensor_bits(a.value, b.value) &&
         same_tensor_bits(a.bias, b.bias) && same_tensor_bits(a.parameters, b.parameters);
}

void expect_laws(SplitCase& c, const std::string& text, const std::vector<int>& numbers_of_ranks) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(text);
  SplitGradients alone(c, normalizer);
  with_ranks(1, [&](Group& group) { split_backward(c, normalizer, group, alone); });
  expect_near(alone, specified_gradients(c, normalizer), text);
  for (const int ranks : numbers_of_ranks) {
    SplitGradients together(c, normalizer);
    with_ranks(ranks, [&](Group& group) { split_backward(c, normalizer, group, together); });
    EXPECT_TRUE(same_gradients(together, alone)) << text << ", " << ranks << " ranks";
  }
}

TEST(SplitGradientLaws, ThreadsAsRanksOfAnyNumberGiveTheGradientsOfTheSpecification) {
  SplitCase c = random_split_case(21, 3 * kShareKeys + 777, 2, 3.0);
  for (const std::string& text : rules_with_gradient()) expect_laws(c, text, {2, 3, 4, 5, 6, 7, 8, 9});
}

TEST(SplitGradientLaws, MasksSoftCapsAndBiasesArePartOfTheScores) {
  SplitCase c = random_split_case(22, 2 * kShareKeys + 5, 3, 2.0);
  Random random(23);
  c.seen.resize(static_cast<std::size_t>(c.keys * c.queries));
  for (char& seen : c.seen) seen = random.uniform() < 0.5;
  std::fill_n(c.seen.begin() + c.keys, c.keys, char{0});  // query 1: no key at all
  c.causal = Causal::bottom_right;
  c.soft_cap = 4.0;
  c.bias.resize(static_cast<std::size_t>(2 * c.keys));
  for (float& b : c.bias) b = static_cast<float>(0.3 * random.normal());
  for (const std::string& text : rules_with_gradient())
    if (text != "linear") expect_laws(c, text, {3});  // linear takes no bias
  c.bias.assign(1, 0.25f);
  for (const char* text : {"softmax", "sigmoid:b=-3", "stick_breaking"}) expect_laws(c, text, {2, 3});
}

// Under other scores the newest share takes nearly all of a stick. Here each key takes about 1/20,000 of it.
TEST(SplitGradientLaws, AStickThatReachesOverSharesKnowsWhatTheyTook) {
  SplitCase c = random_split_case(27, 4 * kShareKeys + 50, 2, 0.5);
  c.bias.assign(1, -10.0f);
  expect_laws(c, "stick_breaking", {2, 3, 5});
}

TEST(SplitGradientLaws, OneShareGivesTheGradientsOfAttendBackward) {
  SplitCase c = random_split_case(24, 500, 2, 2.0);
  const AnyNormalizer normalizer = AnyNormalizer::parse("ssmax");
  Tensor<float, 4> d_out({1, 2, 2, kSplitValueFeatures}, 0.5f), expected({1, 2, 2, kSplitFeatures});
  Tensor<double, 2> expected_parameters({2, 2});
  attend_backward(request_of(c, {0, c.keys}), normalizer, d_out, {.query = expected, .parameters = expected_parameters});
  with_ranks(3, [&](Group& group) {
    const KeyRun run = keys_of_rank(c.keys, group.rank(), group.size());
    Tensor<float, 4> d_query({1, 2, 2, kSplitFeatures});
    Tensor<double, 2> d_parameters({2, 2});
    attend_split_backward(request_of(c, run), c.keys, normalizer, group, d_out, {.query = d_query, .parameters = d_parameters});
    EXPECT_TRUE(same_tensor_bits(d_query, expected) && same_tensor_bits(d_parameters, expected_parameters));
  });
}

TEST(SplitGradientLaws, ABadScoreOnOneRankPoisonsItsRow) {
  SplitCase c = random_split_case(25, 2 * kShareKeys + 100, 1, 1.0);
  c.key(0, 0, 5, 0) = std::numeric_limits<float>::quiet_NaN();
  for (const char* text : {"softmax", "entmax15", "stick_breaking", "entropy_target", "hard"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    SplitGradients found(c, normalizer);
    with_ranks(2, [&](Group& group) { split_backward(c, normalizer, group, found); });
    for (const double g : found.query.elements()) EXPECT_TRUE(std::isnan(g)) << text;
    for (const double g : found.parameters.elements()) EXPECT_TRUE(std::isnan(g) || g == 0.0) << text;
  }
}

TEST(SplitGradientLaws, WhatHasNoBackwardAndGradientsOfAnotherShapeAreRefused) {
  SplitCase c = random_split_case(26, 2 * kShareKeys, 1, 1.0);
  const auto message_of = [&](Group& group, const char* text, const AttentionGradients& wanted) {
    Tensor<double, 4> d_out = d_out_of(c);
    try {
      attend_split_backward(request_of(c, keys_of_rank(c.keys, group.rank(), group.size())), c.keys, AnyNormalizer::parse(text), group,
                            d_out, wanted);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  with_ranks(2, [&](Group& group) {
    Tensor<double, 4> d_query({1, 2, 1, kSplitFeatures}), wrong({1, 2, 2, kSplitFeatures});
    EXPECT_NE(message_of(group, "entmax:alpha=3", {.query = d_query}).find("has no backward here"), std::string::npos);
    EXPECT_NE(message_of(group, "softmax", {.query = wrong}).find("gradients.query"), std::string::npos);
    EXPECT_NE(message_of(group, "softmax", {.bias = wrong}).find("there is no bias"), std::string::npos);
  });
}

}  // namespace
}  // namespace sharpmax::test
