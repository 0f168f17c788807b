// What a head lays on an item, against the weights written out in double from queries and keys.
#include "audit/probe/measure_probe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/transformer/session.h"
#include "support/random.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

using model::Token;

// Computes every weight of the watched rows itself. Softmax with a beta a head.
class WrittenOutItems : public model::AttentionObserver {
 public:
  WrittenOutItems(std::int64_t layers, std::int64_t heads, audit::WatchedRows rows)
      : heads_(heads),
        rows_(rows),
        weight(static_cast<std::size_t>(layers * heads)),
        first(weight.size()),
        signs(weight.size()) {}

  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override {
    for (std::int64_t head = 0; head < block.heads; ++head)
      for (std::int64_t t = 0; t < block.tokens; ++t)
        if (block.position + t >= rows_.first && block.position + t < rows_.end) add(block, head, t);
  }

 private:
  static double at(const AnyTensor<4>& x, std::int64_t head, std::int64_t row, std::int64_t feature) {
    return static_cast<const float*>(
        x.data)[head * x.strides[1] + row * x.strides[2] + feature * x.strides[3]];
  }
  void add(const model::AttentionBlock& block, std::int64_t head, std::int64_t t) {
    const AttentionRequest& r = *block.request;
    const std::int64_t group = block.heads / r.key.shape[1], keys = block.position + t + 1;
    const double beta = block.normalizer->parameters()[0].of_head(head);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t key = 0; key < keys; ++key) {
      double score = 0;
      for (std::int64_t f = 0; f < r.query.shape[3]; ++f)
        score += at(r.query, head, t, f) * at(r.key, head / group, key, f);
      weights.push_back(std::exp(beta * *r.scale * score));
      sum += weights.back();
    }
    const auto place = static_cast<std::size_t>(block.layer * heads_ + block.first_head + head);
    const double rows = static_cast<double>(rows_.end - rows_.first);
    for (std::int64_t key = rows_.item_begin; key < rows_.item_end && key < keys; ++key)
      weight[place] += weights[static_cast<std::size_t>(key)] / sum / rows;
    const std::int64_t peak = std::max_element(weights.begin(), weights.end()) - weights.begin();
    if (peak >= rows_.item_begin && peak < rows_.item_end) first[place] += 1 / rows;
    double near = 0, outside_peak = 0;
    for (std::int64_t key = 1; key < keys; ++key) {
      const double share = weights[static_cast<std::size_t>(key)] / (sum - weights[0]);
      outside_peak = std::max(outside_peak, share);
      if (keys - 1 - key < 32) near += share;
    }
    signs[place].first += weights[0] / sum / rows;
    signs[place].near_outside += near / rows;
    signs[place].peak_outside += outside_peak / rows;
  }

  std::int64_t heads_;
  audit::WatchedRows rows_;

 public:
  std::vector<double> weight, first;
  std::vector<KindSigns> signs;
};

TEST(ItemAttentionOracle, WeightsOnTheItemAreThoseWrittenOut) {
  Folder folder("item-attention");
  TinyModel().write(folder / "m.gguf");
  const model::Model m(folder / "m.gguf");
  const model::Configuration& c = m.configuration();
  for_each_seed(6, [&](Random& random) {
    model::SessionSettings settings{.block = static_cast<std::int64_t>(random.size(1, 40)), .threads = 1};
    settings.normalizers.emplace(c.layers, c.heads, Softmax{});
    settings.normalizers->set(1, 2, Softmax{.beta = 2.5});
    std::vector<Token> tokens;
    for (std::size_t i = 0; i < 50; ++i) tokens.push_back(static_cast<Token>(random.size(0, 96)));
    audit::WatchedRows rows;
    rows.first = static_cast<std::int64_t>(random.size(5, 49));
    rows.end = static_cast<std::int64_t>(random.size(static_cast<std::size_t>(rows.first) + 1, 50));
    rows.item_begin = static_cast<std::int64_t>(random.size(0, 48));
    rows.item_end = static_cast<std::int64_t>(random.size(static_cast<std::size_t>(rows.item_begin) + 1, 50));
    WrittenOutItems oracle(c.layers, c.heads, rows);
    audit::ItemAttention watched(c.layers, c.heads);
    watched.watch(rows);
    for (model::AttentionObserver* observer : {static_cast<model::AttentionObserver*>(&oracle),
                                               static_cast<model::AttentionObserver*>(&watched)}) {
      model::Session session(m, settings);
      session.set_observer(observer);
      session.feed(tokens);
    }
    EXPECT_EQ(watched.rows(), rows.end - rows.first);
    for (std::size_t i = 0; i < oracle.weight.size(); ++i) {
      // Scores are float sums of 16 products of order 1: errors of a few float eps each.
      EXPECT_NEAR(watched.item_weight()[i], oracle.weight[i], 1e-5);
      EXPECT_NEAR(watched.item_first()[i], oracle.first[i], 1e-12);
      EXPECT_NEAR(watched.signs()[i].first, oracle.signs[i].first, 1e-5);
      EXPECT_NEAR(watched.signs()[i].near_outside, oracle.signs[i].near_outside, 1e-5);
      EXPECT_NEAR(watched.signs()[i].peak_outside, oracle.signs[i].peak_outside, 1e-5);
    }
  });
}

TEST(ItemAttentionOracle, WatchingDoesNotChangeWhatTheModelSays) {
  Folder folder("item-attention-bits");
  TinyModel().write(folder / "m.gguf");
  const model::Model m(folder / "m.gguf");
  std::vector<std::vector<float>> logits;
  for (const bool watch : {false, true}) {
    model::Session session(m, {.threads = 1});
    audit::ItemAttention watched(m.configuration().layers, m.configuration().heads);
    watched.watch({10, 20, 3, 5});
    if (watch) session.set_observer(&watched);
    const std::vector<Token> tokens(30, 7);
    const auto last = session.feed_for_last(tokens);
    logits.emplace_back(last.begin(), last.end());
  }
  EXPECT_EQ(logits[0], logits[1]);
}

}  // namespace
}  // namespace sharpmax::test
