// No input passes what is certified of a model's heads: not one that climbs, not a text that runs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audit/certificate/certificate.h"
#include "model/transformer/session.h"
#include "support/attention_watch.h"
#include "support/plain_scores.h"
#include "support/tiny_architectures.h"

namespace sharpmax::test {
namespace {

using audit::HeadCertificate;
using model::Token;

class ModelCertificate : public testing::Test {
 protected:
  model::Model open(const TinyArchitecture& tiny, std::uint64_t seed = 1) {
    tiny.write(folder_ / "tiny.gguf", seed);
    return model::Model(folder_ / "tiny.gguf");
  }
  Folder folder_{"model-certificate"};
};

Row sum_of(const Row& a, const Row& b, double factor) {
  Row sum(a);
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

// Uphill over two keys and their offsets, then over the query, in turn: each step is the best there is.
double climb(const PlainScores& head, Random& random, std::int64_t offsets) {
  Row u(static_cast<std::size_t>(head.width()));
  for (double& x : u) x = random.normal();
  double best = 0.0;
  for (int step = 0; step < (offsets > 1 ? 12 : 200); ++step) {
    const Row q = head.query(u);
    double most = -1e300, least = 1e300;
    Row high, low;
    std::int64_t high_offset = 0, low_offset = 0;
    for (std::int64_t t = 0; t < offsets; ++t) {
      const Row towards = head.turned(head.turned(q, static_cast<double>(t)), 0.0);
      for (const double sign : {1.0, -1.0}) {
        const Row k = head.key(head.best_input(false, sum_of(Row(towards.size(), 0.0), towards, sign)));
        const double score = head.score(q, k, t);
        if (score > most) most = score, high = k, high_offset = t;
        if (score < least) least = score, low = k, low_offset = t;
      }
    }
    best = std::max(best, head.capped(most) - head.capped(least));
    const Row up = head.turned(head.turned(high, 0.0), -static_cast<double>(high_offset));
    const Row down = head.turned(head.turned(low, 0.0), -static_cast<double>(low_offset));
    u = head.best_input(true, sum_of(up, down, -1.0));
  }
  return best;
}

TEST_F(ModelCertificate, NoInputOfAnySizePassesTheNormBound) {
  for (const NamedArchitecture& c : tiny_architectures()) {
    SCOPED_TRACE(c.name);
    const model::Model model = open(c.tiny);
    double nearest = 0.0, farthest = 1.0;
    for (std::int64_t layer = 0; layer < 2; ++layer)
      for (std::int64_t head = 0; head < 4; ++head) {
        const PlainScores plain(model, layer, head);
        const double bound = audit::capped_spread(audit::norm_bound(audit::fold_head(model, layer, head)),
                                                  model.configuration().attention_cap);
        double reached = 0.0;
        for_each_seed(plain.turns() ? 2 : 8, [&](Random& random) {
          reached = std::max(reached, climb(plain, random, plain.turns() ? 40 : 1));
        });
        EXPECT_LE(reached, bound) << layer << " " << head;
        const double told =
            audit::reached_spread(audit::fold_head(model, layer, head), model.configuration().rope);
        EXPECT_LE(told, bound) << layer << " " << head;
        // The same ascent from other places, over other offsets.
        EXPECT_GE(told, 0.8 * reached) << layer << " " << head;
        EXPECT_LE(told, 1.3 * reached) << layer << " " << head;
        nearest = std::max(nearest, reached / bound);
        farthest = std::min(farthest, reached / bound);
      }
    fmt::print("{}: the climb reaches {:.3f} to {:.3f} of the norm bound\n", c.name, farthest, nearest);
    // Without rotation the bound is the maximum itself, but for what float may add.
    EXPECT_GE(farthest, c.tiny.gpt2() ? 0.99 : 0.5) << "too loose to be worth anything";
  }
}

TEST_F(ModelCertificate, NoTextPassesIt) {
  std::vector<NamedArchitecture> all = tiny_architectures();
  for (const NamedArchitecture& c : normalizing_architectures()) all.push_back(c);
  for (const NamedArchitecture& c : all)
    for (const auto cache : {model::CacheType::float32, model::CacheType::float16}) {
      SCOPED_TRACE(c.name);
      const model::Model model = open(c.tiny);
      const auto certificates = audit::certify_heads(model, {.threads = 1});
      SpreadWatch watch(model.configuration());
      for_each_seed(3, [&](Random& random) {
        model::Session session(model, {.cache = cache, .threads = 1});
        session.set_observer(&watch);
        std::vector<Token> tokens(48);
        for (Token& token : tokens) token = static_cast<Token>(random.size(0, c.tiny.vocabulary - 1));
        session.feed(tokens);
      });
      for (std::size_t i = 0; i < certificates.size(); ++i) {
        EXPECT_GT(watch.widest[i], 0.0);
        EXPECT_LE(watch.widest[i], certificates[i].spread()) << "head " << i;
      }
    }
}

// Weights of the projections do not matter: whatever they are made to give, the norm brings back to its size.
TEST_F(ModelCertificate, NormsOfQueriesAndKeysBoundTheirScores) {
  for (const NamedArchitecture& c : normalizing_architectures()) {
    SCOPED_TRACE(c.name);
    const model::Model model = open(c.tiny);
    for (const HeadCertificate& head : audit::certify_heads(model, {.threads = 1})) {
      EXPECT_FALSE(head.vocabulary_spread || head.attained);
      EXPECT_LE(head.norm_reached, head.norm_spread);
      // Where each head has a norm of its own, only the angles of a slow pair may keep an input from it; a norm of
      // all heads together leaves one head what the others do not take.
      EXPECT_GE(head.norm_reached, (c.tiny.olmo2() ? 0.05 : 0.7) * head.norm_spread) << head.layer << " " << head.head;
    }
  }
}

TEST_F(ModelCertificate, RefusesQueriesThatGrowWithTheirPosition) {
  const auto grow = [](GgufWriter& file) {
    file.add("mistral3.attention.temperature_scale", 0.1f);
    file.add("mistral3.rope.scaling.original_context_length", std::uint32_t{16});
  };
  const model::Model model = open({.name = "mistral3", .more = grow});
  EXPECT_THROW(audit::certify_heads(model, {.threads = 1}), Error);
}

TEST_F(ModelCertificate, IsTheSameForAnyNumberOfThreads) {
  const model::Model model = open({.name = "qwen2"});
  const auto one = audit::certify_heads(model, {.threads = 1}),
             three = audit::certify_heads(model, {.threads = 3});
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].spread(), three[i].spread());
    EXPECT_EQ(one[i].layer, three[i].layer);
    EXPECT_EQ(one[i].attained.has_value(), three[i].attained.has_value());
    if (one[i].attained && three[i].attained) {
      EXPECT_EQ(one[i].attained->text, three[i].attained->text);
    }
  }
}

TEST_F(ModelCertificate, TellsHowFarItIsAndReachesTheEnd) {
  const model::Model model = open({});
  double last = 0.0;
  audit::CertificateSettings settings{.threads = 2};
  settings.progress = [&](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  audit::certify_heads(model, settings);
  EXPECT_NEAR(last, 1.0, 1e-9);
}

TEST_F(ModelCertificate, LearnedPositionsLeaveTheNormBoundAlone) {
  for (const HeadCertificate& head : audit::certify_heads(open({.name = "gpt2"}), {.threads = 1})) {
    EXPECT_FALSE(head.vocabulary_spread || head.attained);
    EXPECT_EQ(head.spread(), head.norm_spread);
  }
}

TEST(CappedSpread, IsTheMostThatTanhLeavesOfTwoScores) {
  for_each_seed(200, [](Random& random) {
    const double cap = random.log_uniform(0.1, 100), spread = random.log_uniform(1e-3, 1e3);
    const double at = random.uniform(-3, 3) * cap;
    const double apart = cap * (std::tanh((at + spread) / cap) - std::tanh(at / cap));
    EXPECT_LE(apart, audit::capped_spread(spread, cap));
    const double centred = 2.0 * cap * std::tanh(spread / (2.0 * cap));
    EXPECT_NEAR(audit::capped_spread(spread, cap), centred, 1e-5 * cap);
  });
  EXPECT_EQ(audit::capped_spread(7.0, 0.0), 7.0);
}

}  // namespace
}  // namespace sharpmax::test
