// Sketches of heads, against the weights of the same rows written out in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "audit/measure/findings.h"
#include "storage/files.h"
#include "support/attention_watch.h"
#include "support/tiny_architectures.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

constexpr double kNear = 2e-5;  // float scores of some tens, and their weights

std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Scores and weights of one head, written out: [query][key], a key that is not seen has weight 0.
struct WrittenOut {
  std::vector<Row> scores, weights;
};

Row weighed(const AnyNormalizer& normalizer, const Row& scores) {
  Row weights(scores.size());
  if (normalizer == Softmax{}) {
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) sum += weights[i] = std::exp(scores[i] - top);
    for (double& w : weights) w /= sum;
    return weights;
  }
  const Extents<4> shape{1, 1, 1, static_cast<std::int64_t>(scores.size())};
  normalize(TensorView<const double, 4>(scores.data(), shape), normalizer,
            TensorView<double, 4>(weights.data(), shape));
  return weights;
}

class WritingWatch final : public model::AttentionObserver {
 public:
  explicit WritingWatch(const model::Configuration& c) : c_(c), heads(as_size(c.layers * c.heads)) {}
  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override {
    for (std::int64_t head = 0; head < block.heads; ++head)
      for (std::int64_t t = 0; t < block.tokens; ++t) write_row(block, head, t);
  }

 private:
  void write_row(const model::AttentionBlock& block, std::int64_t head, std::int64_t query) {
    const AttentionRequest& r = *block.request;
    const std::int64_t group = r.query.shape[1] / r.key.shape[1];
    const std::int64_t window = c_.windows[as_size(block.layer)];
    const std::int64_t first = window > 0 ? std::max<std::int64_t>(0, query - window + 1) : 0;
    Row scores;
    for (std::int64_t key = first; key <= query; ++key) {
      double dot = 0;
      for (std::int64_t f = 0; f < c_.head_width; ++f)
        dot += element(r.query, head, query, f) * element(r.key, head / group, key, f);
      const double score = c_.attention_scale * dot, cap = c_.attention_cap;
      scores.push_back(cap > 0 ? cap * std::tanh(score / cap) : score);
    }
    Row weights = weighed(*block.normalizer, scores);
    weights.insert(weights.begin(), as_size(first), 0.0);
    WrittenOut& out = heads[as_size(block.layer * c_.heads + block.first_head + head)];
    out.scores.push_back(std::move(scores));
    out.weights.push_back(std::move(weights));
  }
  const model::Configuration& c_;

 public:
  std::vector<WrittenOut> heads;
};

std::vector<model::Token> some_tokens(std::int64_t count, std::size_t vocabulary) {
  Random random(3);
  std::vector<model::Token> tokens;
  for (std::int64_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<model::Token>(random.size(0, vocabulary - 1)));
  return tokens;
}

std::int64_t begin_of(std::int64_t block, std::int64_t tokens, std::int64_t size) {
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(block * tokens) / static_cast<double>(size)));
}

void expect_map(const Sketches& found, const HeadSketch& head, const WrittenOut& wanted) {
  const auto n = static_cast<std::int64_t>(found.tokens.size()), size = found.map_size;
  for (std::int64_t row = 0; row < size; ++row) {
    const std::int64_t from = begin_of(row, n, size), to = begin_of(row + 1, n, size);
    double mass = 0, wanted_mass = 0;
    for (std::int64_t column = 0; column < size; ++column) {
      double sum = 0;
      for (std::int64_t q = from; q < to; ++q)
        for (std::int64_t k = begin_of(column, n, size); k < begin_of(column + 1, n, size) && k <= q; ++k)
          sum += wanted.weights[as_size(q)][as_size(k)];
      const double cell = head.map[as_size(row * size + column)], mean = sum / static_cast<double>(to - from);
      EXPECT_NEAR(cell, mean, kNear * (1 + mean)) << "cell " << row << ", " << column;
      if (column > row) {
        EXPECT_EQ(cell, 0.0);
      }
      mass += cell;
      wanted_mass += mean;
    }
    EXPECT_NEAR(mass, wanted_mass, kNear * (1 + wanted_mass)) << "row " << row;
  }
}

void expect_top_keys(const Sketches& found, const HeadSketch& head, const WrittenOut& wanted) {
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const Row& weights = wanted.weights[as_size(found.rows[i])];
    Row sorted = weights;
    std::sort(sorted.rbegin(), sorted.rend());
    for (std::size_t k = 0; k < as_size(kSketchKeys); ++k) {
      const std::int64_t key = head.top_keys[i * kSketchKeys + k];
      const double weight = head.top_weights[i * kSketchKeys + k];
      if (k >= sorted.size() || key < 0) {
        EXPECT_EQ(weight, 0.0);
        continue;
      }
      // Of keys that are equal but for rounding, any.
      EXPECT_NEAR(weight, sorted[k], kNear * (1 + sorted[k])) << "query " << found.rows[i] << ", key " << key;
      EXPECT_NEAR(weight, weights.at(as_size(key)), kNear * (1 + weight));
    }
  }
}

void expect_scores(const HeadSketch& head, const WrittenOut& wanted) {
  Row sorted = wanted.scores.back();
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(head.keys, static_cast<std::int64_t>(sorted.size()));
  ASSERT_EQ(head.scores.size(), as_size(kSketchQuantiles));
  EXPECT_NEAR(head.scores.front(), sorted.front(), 1e-4);
  EXPECT_NEAR(head.scores.back(), sorted.back(), 1e-4);
  EXPECT_TRUE(std::is_sorted(head.scores.begin(), head.scores.end()));
  const double half = 0.5 * static_cast<double>(sorted.size() - 1);
  const double median = 0.5 * (sorted[static_cast<std::size_t>(std::floor(half))] +
                               sorted[static_cast<std::size_t>(std::ceil(half))]);
  EXPECT_NEAR(head.scores[kSketchQuantiles / 2], median, 1e-4);
}

void expect_written_out(const model::Model& model, const model::SessionSettings& settings,
                        const std::vector<model::Token>& tokens) {
  model::Session session(model, settings);
  const Sketches found = audit::sketch_heads(session, tokens);
  WritingWatch written(model.configuration());
  const model::Watching watching(session, written);
  session.rewind(0);
  session.feed(tokens);
  ASSERT_EQ(found.heads.size(), written.heads.size());
  EXPECT_EQ(found.map_size, std::min<std::int64_t>(48, static_cast<std::int64_t>(tokens.size())));
  for (std::size_t i = 0; i < found.heads.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "head " << i);
    expect_map(found, found.heads[i], written.heads[i]);
    expect_top_keys(found, found.heads[i], written.heads[i]);
    expect_scores(found.heads[i], written.heads[i]);
  }
}

TEST(HeadSketches, AreWhatTheWeightsWrittenOutSay) {
  const Folder folder{"sketches"};
  TinyModel{.context = 128, .sharpened_layer = 1, .sharpened_head = 2, .sharpened_by = 8}.write(folder /
                                                                                                "m.gguf");
  const model::Model model(folder / "m.gguf");
  for (const std::int64_t tokens : {1, 7, 48, 91}) {
    SCOPED_TRACE(::testing::Message() << tokens << " tokens");
    expect_written_out(model, {}, some_tokens(tokens, 97));
  }
}

// Heads of one layer under several normalizers are several calls of attend(); weights need not sum to one.
TEST(HeadSketches, FollowATableOfNormalizers) {
  const Folder folder{"sketches-table"};
  TinyModel{.context = 128}.write(folder / "m.gguf");
  const model::Model model(folder / "m.gguf");
  model::NormalizerTable table(2, 4, Softmax{});
  table.set(0, 1, AnyNormalizer::parse("entmax15"));
  table.set(0, 3, AnyNormalizer::parse("top_k:k=4"));
  table.set_layer(1, AnyNormalizer::parse("sigmoid"));
  model::SessionSettings settings;
  settings.normalizers = table;
  expect_written_out(model, settings, some_tokens(60, 97));
}

TEST(HeadSketches, HeedWindowsCapsAndTheTypeOfTheCache) {
  const Folder folder{"sketches-window"};
  TinyArchitecture{.name = "gemma2", .layers = 2}.write(folder / "m.gguf");
  const model::Model model(folder / "m.gguf");
  const auto& windows = model.configuration().windows;
  ASSERT_NE(windows[0] > 0, windows[1] > 0) << "one layer of each kind was expected";
  for (const model::CacheType cache : {model::CacheType::float32, model::CacheType::float16}) {
    model::SessionSettings settings;
    settings.cache = cache;
    expect_written_out(model, settings, some_tokens(40, 60));
  }
}

TEST(HeadSketches, LookAtRowsAllOverTheTextAndAtItsLast) {
  EXPECT_EQ(audit::sketched_rows(512), (std::vector<std::int64_t>{63, 127, 255, 383, 447, 511}));
  EXPECT_EQ(audit::sketched_rows(1), (std::vector<std::int64_t>{0}));
  for (std::int64_t n = 1; n < 40; ++n) {
    const auto rows = audit::sketched_rows(n);
    EXPECT_EQ(rows.back(), n - 1);
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()), rows.end()) << n;
  }
}

TEST(HeadSketches, WantOneBlock) {
  const Folder folder{"sketches-block"};
  TinyModel{}.write(folder / "m.gguf");
  const model::Model model(folder / "m.gguf");
  model::SessionSettings settings;
  settings.block = 16;
  model::Session session(model, settings);
  EXPECT_THROW(audit::sketch_heads(session, some_tokens(17, 97)), Error);
  EXPECT_THROW(audit::sketch_heads(session, {}), Error);
  EXPECT_EQ(audit::sketch_heads(session, some_tokens(16, 97)).map_size, 16);
}

TEST(SketchJson, HoldsMapsToHalfAStepAndTextsAsUtf8) {
  Sketches sketches{.tokens = {"a", "\xe2\x82", "</script>"}, .map_size = 3, .rows = {0, 2}, .heads_per_layer = 1};
  HeadSketch head{.map = {1, 0, 0, 0.25, 0.75, 0, 1e-5, 0.4, 0.59999},
                         .top_keys = {0, -1, -1, -1, -1, 2, 1, 0, -1, -1},
                         .top_weights = {1, 0, 0, 0, 0, 0.59999, 0.4, 1e-5, 0, 0},
                         .keys = 3,
                         .scores = Row(kSketchQuantiles, 0.1)};
  sketches.heads = {head, head};
  for (double& w : sketches.heads[1].map) w *= 3;  // as sigmoid's may be
  sketches.heads[1].map[1] = 0;
  const auto json = audit::to_json(sketches);
  EXPECT_EQ(json["tokens"], (nlohmann::ordered_json{"a", "\xef\xbf\xbd", "</script>"}));
  EXPECT_NO_THROW(json.dump());
  EXPECT_EQ(json["heads"][1]["layer"], 1);
  EXPECT_EQ(json["heads"][0]["top"][0]["keys"], nlohmann::ordered_json{0});
  EXPECT_EQ(json["heads"][0]["top"][1]["weights"], (nlohmann::ordered_json{0.59999, 0.4, 1e-5}));
  for (std::size_t i = 0; i < 2; ++i) {
    const double scale = json["heads"][i]["map"]["scale"];
    EXPECT_EQ(scale, i == 0 ? 1.0 : 3.0);
    const auto cells = bytes_in_base64(json["heads"][i]["map"]["cells"].get<std::string>());
    ASSERT_TRUE(cells && cells->size() == 6);
    std::size_t at = 0;
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column <= row; ++column)
        EXPECT_NEAR((*cells)[at++] / 255.0, std::sqrt(sketches.heads[i].map[3 * row + column] / scale),
                    0.5 / 255 + 1e-9);
  }
}

TEST(SketchJson, SaysNothingOfWeightsThatAreNoNumbers) {
  Sketches sketches{.tokens = {"a"}, .map_size = 1, .rows = {0}, .heads_per_layer = 1};
  const double nan = std::nan("");
  sketches.heads = {{.map = {nan},
                     .top_keys = {0, -1, -1, -1, -1},
                     .top_weights = {nan, 0, 0, 0, 0},
                     .keys = 1,
                     .scores = Row(kSketchQuantiles, nan)}};
  const auto json = audit::to_json(sketches);
  EXPECT_TRUE(json["heads"][0]["map"].is_null());
  EXPECT_TRUE(json["heads"][0]["top"][0]["weights"][0].is_null());
  EXPECT_TRUE(json["heads"][0]["scores"]["quantiles"][0].is_null());
}

TEST(Base64, GoesThereAndBackAndRefusesWhatItIsNot) {
  const std::string foobar = "foobar";  // RFC 4648, section 10
  const std::vector<std::string> coded{"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (std::size_t n = 0; n < coded.size(); ++n) {
    const std::vector<std::uint8_t> bytes(foobar.begin(), foobar.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(base64_of(bytes), coded[n]);
    EXPECT_EQ(bytes_in_base64(coded[n]), bytes);
  }
  for (const char* wrong : {"Z", "Zg", "Zg=", "Z!==", "<script>", "Zg==Zg=="})
    EXPECT_FALSE(bytes_in_base64(wrong)) << wrong;
}

}  // namespace
}  // namespace sharpmax::test
