// Laws of drawing the next token: frequencies are the probabilities, cuts keep what they say, nothing poisons
// a draw.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "model/generation/generate.h"
#include "sharpmax/error.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using model::Sampler;
using model::Sampling;
using model::Token;

constexpr float kFloatNaN = std::numeric_limits<float>::quiet_NaN(),
                kFloatInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_logits(Random& random, std::size_t count) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < count; ++i) logits.push_back(static_cast<float>(2 * random.normal()));
  return logits;
}

std::map<Token, int> draws(const Sampling& sampling, const std::vector<float>& logits, int count) {
  Sampler sampler(sampling);
  std::map<Token, int> seen;
  for (int i = 0; i < count; ++i) ++seen[sampler.pick(logits)];
  return seen;
}

TEST(SamplerLaws, FrequenciesAreTheProbabilities) {
  for_each_seed(3, [](Random& random) {
    const std::vector<float> logits = random_logits(random, 8);
    constexpr int kDraws = 20000;
    const double temperature = random.uniform(0.5, 2.0);
    auto seen = draws({.temperature = temperature, .seed = 5}, logits, kDraws);
    double total = 0;
    for (const float logit : logits) total += std::exp(logit / temperature);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(logits[i] / temperature) / total;
      // Five standard deviations: once in two million.
      EXPECT_NEAR(seen[static_cast<Token>(i)] / double{kDraws}, p, 5 * std::sqrt(p * (1 - p) / kDraws)) << i;
    }
  });
}

TEST(SamplerLaws, TopKKeepsTheKLikeliest) {
  for_each_seed(20, [](Random& random) {
    const std::vector<float> logits = random_logits(random, 30);
    const auto k = static_cast<std::int64_t>(random.size(1, 40));
    for (const auto& [token, count] : draws({.temperature = 5, .top_k = k}, logits, 300)) {
      const auto above = std::count_if(logits.begin(), logits.end(), [&, t = token](float l) {
        return l > logits[static_cast<std::size_t>(t)];
      });
      EXPECT_LT(above, k);
    }
  });
}

TEST(SamplerLaws, TopPKeepsTheFewestThatReachP) {
  for_each_seed(20, [](Random& random) {
    const std::vector<float> logits = random_logits(random, 30);
    const double p = random.uniform(0.05, 1.0);
    double total = 0;
    for (const float logit : logits) total += std::exp(logit);
    for (const auto& [token, count] : draws({.temperature = 1, .top_p = p}, logits, 300)) {
      double above = 0;
      for (const float logit : logits)
        if (logit > logits[static_cast<std::size_t>(token)]) above += std::exp(logit) / total;
      EXPECT_LT(above, p + 1e-12) << "token " << token << " was not needed";
    }
  });
}

TEST(SamplerLaws, CutsThatCutNothingChangeNoDraw) {
  Random random(3);
  const std::vector<float> logits = random_logits(random, 50);
  Sampler plain({.temperature = 1, .seed = 9}), again({.temperature = 1, .top_k = 0, .top_p = 1, .seed = 9});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(plain.pick(logits), again.pick(logits));
}

TEST(SamplerLaws, NothingThatIsNoNumberIsDrawn) {
  const std::vector<float> logits = {kFloatNaN, 1, kFloatNaN, -kFloatInfinity, 0.5f};
  for (const auto& sampling : {Sampling{}, Sampling{.temperature = 1}, Sampling{.temperature = 1, .top_k = 4},
                               Sampling{.temperature = 1, .top_p = 0.99}})
    for (const auto& [token, count] : draws(sampling, logits, 200))
      EXPECT_TRUE(token == 1 || token == 4) << token;
  EXPECT_EQ(model::likeliest(std::vector<float>{kFloatNaN, kFloatNaN}), 0);
  EXPECT_EQ(model::likeliest(std::vector<float>{2, 3, 3}), 1) << "of equals the lowest";
}

TEST(SamplerLaws, SettingsThatMakeNoSenseAreRefused) {
  for (const auto& sampling :
       {Sampling{.temperature = -1}, Sampling{.temperature = std::nan("")},
        Sampling{.temperature = 1, .top_k = -1}, Sampling{.temperature = 1, .top_p = 0},
        Sampling{.temperature = 1, .top_p = 1.5}})
    EXPECT_THROW(Sampler{sampling}, Error);
}

}  // namespace
}  // namespace sharpmax::test
