// Laws of a running model: threads, blocks and the division of heads into calls leave it the same model.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/transformer/normalizer_table.h"
#include "normalizer/of_head.h"
#include "model/transformer/session.h"
#include "sharpmax/error.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

using model::Token;

std::vector<Token> tokens_of(std::size_t count) {
  Random random(7);
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<Token>(random.size(0, 96)));
  return tokens;
}

std::vector<float> logits_of(const model::Model& model, const model::SessionSettings& settings,
                             std::size_t count = 50) {
  model::Session session(model, settings);
  std::vector<float> all;
  session.feed_for_all(tokens_of(count), [&](std::int64_t, std::span<const float> logits) {
    all.insert(all.end(), logits.begin(), logits.end());
  });
  return all;
}

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

class ModelLaws : public testing::Test {
 protected:
  model::Model open(const TinyModel& tiny = {}) {
    tiny.write(folder_ / "tiny.gguf");
    return model::Model(folder_ / "tiny.gguf");
  }
  Folder folder_{"model-laws"};
};

TEST_F(ModelLaws, AnyNumberOfThreadsGivesTheSameBits) {
  const model::Model model = open();
  for (const char* normalizer : {"softmax", "adaptive", "entmax15"}) {
    model::SessionSettings settings;
    settings.normalizers.emplace(2, 4, AnyNormalizer::parse(normalizer));
    settings.threads = 1;
    const std::vector<float> one = logits_of(model, settings);
    for (const int threads : {2, 3, 7}) {
      settings.threads = threads;
      EXPECT_EQ(one, logits_of(model, settings)) << normalizer << ", " << threads << " threads";
    }
  }
}

TEST_F(ModelLaws, BlocksOfAnySizeGiveTheSameLogits) {
  const model::Model model = open();
  const std::vector<float> whole = logits_of(model, {.threads = 1});
  for (const std::int64_t block : {1, 3, 16, 49})
    EXPECT_LE(largest_difference(whole, logits_of(model, {.block = block, .threads = 1})), 1e-4f) << block;
}

TEST_F(ModelLaws, AfterGoingBackTheSameTokensGiveTheSameLogits) {
  const model::Model model = open();
  model::Session session(model, {.threads = 1});
  const std::vector<Token> tokens = tokens_of(20);
  session.feed(std::span(tokens).first(10));
  const auto rest = std::span(tokens).subspan(10);
  const auto first = session.feed_for_last(rest);
  const std::vector<float> kept(first.begin(), first.end());
  session.rewind(10);
  session.feed(tokens_of(7));
  session.rewind(10);
  const auto again = session.feed_for_last(rest);
  EXPECT_EQ(kept, std::vector<float>(again.begin(), again.end()));
  EXPECT_THROW(session.rewind(21), Error);
}

TEST_F(ModelLaws, ATemperatureInOneHeadIsThatHeadWithLargerQueries) {
  for (const std::uint32_t head : {0u, 1u, 3u}) {
    const std::vector<float> by_weights =
        logits_of(open({.sharpened_layer = 1, .sharpened_head = head, .sharpened_by = 2}), {.threads = 1});
    const model::Model plain = open();
    model::SessionSettings settings{.threads = 1};
    settings.normalizers.emplace(2, 4, Softmax{});
    const std::vector<float> without = logits_of(plain, settings);
    settings.normalizers->set(1, head, Softmax{.beta = 2});
    const std::vector<float> by_rule = logits_of(plain, settings);
    EXPECT_LE(largest_difference(by_weights, by_rule), 1e-4f) << head;
    EXPECT_GE(largest_difference(without, by_rule), 1e-2f) << "the head does not matter in this model";
  }
}

TEST_F(ModelLaws, ParametersWithOneValueAHeadAreDealtOutToTheHeads) {
  const model::Model model = open();
  model::SessionSettings settings{.threads = 1};
  settings.normalizers.emplace(2, 4, AnyNormalizer::parse("softmax:beta=1/2/1/3"));
  const std::vector<float> together = logits_of(model, settings);
  settings.normalizers.emplace(2, 4, Softmax{});
  for (const std::int64_t layer : {0, 1}) {
    settings.normalizers->set(layer, 1, Softmax{.beta = 2});
    settings.normalizers->set(layer, 3, Softmax{.beta = 3});
  }
  EXPECT_EQ(together, logits_of(model, settings));
}

TEST_F(ModelLaws, ACacheInHalfPrecisionIsNearAndNotTheSame) {
  const model::Model model = open();
  const std::vector<float> whole = logits_of(model, {.threads = 1});
  const std::vector<float> half = logits_of(model, {.cache = model::CacheType::float16, .threads = 1});
  const auto [low, high] = std::minmax_element(whole.begin(), whole.end());
  EXPECT_LE(largest_difference(whole, half), 1e-2f * (*high - *low));
  EXPECT_NE(whole, half);
}

TEST_F(ModelLaws, TokensThatAreNotThereOrDoNotFitAreRefusedAndNothingIsLost) {
  const model::Model model = open();
  model::Session session(model, {.capacity = 8, .threads = 1});
  session.feed(tokens_of(6));
  EXPECT_THROW(session.feed(tokens_of(3)), Error);
  const Token beyond[] = {97}, negative[] = {-1};
  EXPECT_THROW(session.feed(beyond), Error);
  EXPECT_THROW(session.feed(negative), Error);
  EXPECT_THROW(session.feed_for_last({}), Error);
  EXPECT_EQ(session.position(), 6);
  session.feed(tokens_of(2));
}

TEST_F(ModelLaws, ABlockThatWasCutShortBetweenLayersCountsAsNotFed) {
  const model::Model model = open();
  const auto tokens = tokens_of(30);
  model::Session whole(model, {});
  const auto wanted = whole.feed_for_last(tokens);
  int left = 3;  // layers: the first block has two
  model::SessionSettings settings{.block = 16};
  settings.on_layer = [&] {
    if (left-- == 0) throw std::runtime_error("enough");
  };
  model::Session session(model, settings);
  EXPECT_THROW(session.feed(tokens), std::runtime_error);
  EXPECT_EQ(session.position(), 16);
  left = 1000;
  const auto found = session.feed_for_last(std::span(tokens).subspan(16));
  EXPECT_LE(largest_difference({wanted.begin(), wanted.end()}, {found.begin(), found.end()}), 1e-4f);
}

TEST(HeadRuns, CoverEveryHeadOnceAndShareKeysEvenly) {
  for_each_seed(200, [](Random& random) {
    const auto kv_heads = static_cast<std::int64_t>(random.size(1, 4));
    const auto group = static_cast<std::int64_t>(random.size(1, 4));
    const std::int64_t heads = kv_heads * group;
    model::NormalizerTable table(1, heads, Softmax{});
    for (std::int64_t head = 0; head < heads; ++head)
      if (const double kind = random.uniform(); kind < 0.3)
        table.set(0, head, Hard{});
      else if (kind < 0.7)
        table.set(0, head, Sink{.c = random.uniform()});
    std::int64_t next = 0;
    for (const model::HeadRun& run : head_runs(table, 0, kv_heads)) {
      EXPECT_EQ(run.first, next);
      EXPECT_EQ(run.count % run.kv_count, 0);
      const std::int64_t share = run.count / run.kv_count;
      for (std::int64_t i = 0; i < run.count; ++i) {
        EXPECT_EQ(table.at(0, run.first + i), normalizer_of_head(run.normalizer, i));
        EXPECT_EQ(run.kv_first + i / share, (run.first + i) / group) << "the wrong keys";
      }
      next = run.first + run.count;
    }
    EXPECT_EQ(next, heads);
  });
}

TEST(NormalizerTables, WrittenAndReadAreTheSame) {
  for_each_seed(50, [](Random& random) {
    const char* const some[] = {"softmax", "softmax:beta=1.5", "entropy_target:nats=0.25", "adaptive",
                                "sigmoid"};
    model::NormalizerTable table(3, 4, AnyNormalizer::parse(some[random.size(0, 4)]));
    for (int i = 0; i < 6; ++i)
      table.set(static_cast<std::int64_t>(random.size(0, 2)), static_cast<std::int64_t>(random.size(0, 3)),
                AnyNormalizer::parse(some[random.size(0, 4)]));
    EXPECT_EQ(model::parse_normalizer_table(to_json(table).dump(), "t", 3, 4), table);
  });
}

TEST(NormalizerTables, StrongerWordsComeLater) {
  const auto table = model::parse_normalizer_table(
      R"({"schema": "sharpmax.normalizers/1", "default": "hard", "layers": [{"layer": 1, "normalizer": "softmax:beta=1/2"}],
          "heads": [{"layer": 1, "head": 0, "normalizer": "sparsemax"}]})",
      "t", 2, 2);
  EXPECT_EQ(table.at(0, 1), AnyNormalizer(Hard{}));
  EXPECT_EQ(table.at(1, 0), AnyNormalizer(Sparsemax{}));
  EXPECT_EQ(table.at(1, 1), AnyNormalizer(Softmax{.beta = 2}));
}

}  // namespace
}  // namespace sharpmax::test
