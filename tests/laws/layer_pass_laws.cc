// Laws of a LayerPass: the order of layers and blocks changes no bit, and a pass that was ended goes on to the same bits.
#include "model/transformer/layer_pass.h"

#include <gtest/gtest.h>

#include "audit/measure/reading.h"
#include "model/generation/generate.h"
#include "model/job/model_request.h"
#include "support/thread_group.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

class LayerPasses : public ::testing::Test {
 protected:
  LayerPasses() : folder_("layer-pass") {
    TinyModel{.layers = 3, .context = 128}.write(folder_ / "m.gguf");
    ModelRequest request;
    request.model = folder_ / "m.gguf";
    model_ = model::shared_model(request);
    Random random(3);
    for (int i = 0; i < 120; ++i) tokens_.push_back(static_cast<model::Token>(random.size(0, 96)));
  }

  model::SessionSettings settings(model::CacheType cache = model::CacheType::float32) const {
    return {.capacity = 128, .block = 17, .cache = cache, .threads = 2};
  }

  Folder folder_;
  std::shared_ptr<const model::Model> model_;
  std::vector<model::Token> tokens_;
};

TEST_F(LayerPasses, HaveTheLossesOfASession) {
  for (const auto cache : {model::CacheType::float32, model::CacheType::float16}) {
    model::Session session(*model_, settings(cache));
    model::LayerPass pass(*model_, settings(cache));
    for (int again = 0; again < 2; ++again) {
      const ChunkLosses one = model::chunk_losses(session, tokens_, 0), other = model::chunk_losses(pass, tokens_, 0, {});
      EXPECT_EQ(one.losses, other.losses);
      EXPECT_EQ(one.likeliest, other.likeliest);
    }
  }
}

using RowsByLength = std::vector<audit::KeptRows>;

RowsByLength rows_by_layer(model::LayerPass& pass, std::span<const model::Token> tokens, const std::vector<std::int64_t>& lengths,
                   const model::PassFile& file, const std::function<void(std::int64_t)>& on_tokens = {}) {
  RowsByLength rows;
  audit::read_excerpt(pass, tokens, lengths,
                      {.on_tokens = on_tokens, .on_length = [&](std::size_t, audit::KeptRows kept) { rows.push_back(kept); }},
                      file);
  return rows;
}

TEST_F(LayerPasses, LetAnObserverSeeTheRowsOfASessionAndGoOnAfterAnEnd) {
  const std::vector<std::int64_t> lengths = {20, 51, 120};
  model::Session session(*model_, settings());
  RowsByLength expected;
  audit::read_excerpt(session, tokens_, lengths,
                      {.on_tokens = {}, .on_length = [&](std::size_t, audit::KeptRows kept) { expected.push_back(kept); }});
  model::LayerPass whole(*model_, settings());
  EXPECT_EQ(rows_by_layer(whole, tokens_, lengths, {}), expected);

  // Ended in the middle of the second layer, after the state of the first was saved.
  const model::PassFile file{folder_ / "state.npz", 7, 0};
  struct Ended {};
  model::LayerPass ended(*model_, settings());
  EXPECT_THROW(rows_by_layer(ended, tokens_, lengths, file,
                             [](std::int64_t done) {
                               if (done > 60) throw Ended();
                             }),
               Ended);
  ASSERT_TRUE(std::filesystem::exists(file.path));
  std::int64_t least = 120;
  model::LayerPass again(*model_, settings());
  EXPECT_EQ(rows_by_layer(again, tokens_, lengths, file, [&](std::int64_t done) { least = std::min(least, done); }), expected);
  EXPECT_GT(least, 40);  // the first layer was not read again
  // A state of another text is not gone on from.
  model::LayerPass other(*model_, settings());
  EXPECT_TRUE(other.load(file.path, 8, 120).empty());
  EXPECT_TRUE(other.load(file.path, 7, 119).empty());
}

TEST_F(LayerPasses, OfSeveralThreadsAsRanksHaveTheLossesAndRowsOfOne) {
  const std::vector<std::int64_t> lengths = {20, 51, 120};
  for (const auto cache : {model::CacheType::float32, model::CacheType::float16}) {
    model::SessionSettings one = settings(cache);
    one.threads = 1;
    model::LayerPass alone(*model_, one);
    const ChunkLosses losses = model::chunk_losses(alone, tokens_, 0, {});
    const RowsByLength rows = rows_by_layer(alone, tokens_, lengths, {});
    for (const int ranks : {1, 2, 3, 5, 9})  // 9: more than there are blocks of 17 tokens
      with_ranks(ranks, [&](Group& group) {
        model::LayerPass pass(*model_, one, &group);
        const ChunkLosses together = model::chunk_losses(pass, tokens_, 0, {});
        EXPECT_EQ(together.losses, losses.losses) << group.rank() << " of " << ranks;
        EXPECT_EQ(together.likeliest, losses.likeliest);
        EXPECT_EQ(rows_by_layer(pass, tokens_, lengths, {}), rows) << group.rank() << " of " << ranks;
      });
  }
}

TEST_F(LayerPasses, GoOnWithAnotherNumberOfThreadsAsRanks) {
  const std::vector<std::int64_t> lengths = {51, 120};
  model::SessionSettings one = settings();
  one.threads = 1;
  model::LayerPass alone(*model_, one);
  const RowsByLength expected = rows_by_layer(alone, tokens_, lengths, {});
  const model::PassFile file{folder_ / "together.npz", 7, 0};
  struct Ended {};
  // All end in the second layer, after rank 0 has saved the state of the first.
  EXPECT_THROW(with_ranks(3, [&](Group& group) {
                 model::LayerPass pass(*model_, one, &group);
                 rows_by_layer(pass, tokens_, lengths, file, [](std::int64_t done) {
                   if (done > 40) throw Ended();
                 });
               }),
               Ended);
  ASSERT_TRUE(std::filesystem::exists(file.path));
  for (const int ranks : {1, 2, 4}) {
    const model::PassFile copy{folder_ / ("copy" + std::to_string(ranks)), 7, 1e9};
    std::filesystem::copy_file(file.path, copy.path);
    with_ranks(ranks, [&](Group& group) {
      std::int64_t least = 120;
      model::LayerPass pass(*model_, one, &group);
      EXPECT_EQ(rows_by_layer(pass, tokens_, lengths, copy, [&](std::int64_t done) { least = std::min(least, done); }), expected);
      EXPECT_GT(least, 40);  // the first layer was not read again
    });
  }
}

TEST_F(LayerPasses, TakeLessMemoryThanASession) {
  const model::Configuration& c = model_->configuration();
  const auto pass = model::layer_pass_bytes(c, 1000, model::CacheType::float32);
  const auto all = model::cache_bytes(c, 1000, model::CacheType::float32);
  ASSERT_TRUE(pass && all);
  EXPECT_EQ(*pass, *all / 3 + 1000u * 48u * 4u);
}

TEST_F(LayerPasses, KeepTheirSessionToThemselves) {
  model::SessionSettings one = settings();
  one.one_layer = true;
  model::Session session(*model_, one);
  EXPECT_THROW(session.feed(tokens_), Error);
}

}  // namespace
}  // namespace sharpmax::test
