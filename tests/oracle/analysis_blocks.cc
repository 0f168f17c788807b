// Paper B's measures of whole heads, from queries and keys, against the same written out; and bit for bit the
// same for any number of threads.
#include <gtest/gtest.h>

#include <bit>

#include "audit/analysis/measure_model.h"
#include "support/paper_b_plain.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::audit;

// Values as float, read back in double: both sides compute on the same.
struct Floats {
  std::vector<float> data;
  std::int64_t width;
  PlainVector row(std::int64_t i) const { return {data.begin() + i * width, data.begin() + (i + 1) * width}; }
};

Floats random_floats(Random& random, std::int64_t rows, std::int64_t width) {
  Floats out{{}, width};
  for (std::int64_t i = 0; i < rows * width; ++i) out.data.push_back(static_cast<float>(random.normal()));
  return out;
}

// One layer: four query heads on two key heads, a window, a soft cap.
struct Layer {
  static constexpr std::int64_t kHeads = 4, kKeyHeads = 2, kWidth = 8, kHidden = 6;
  std::int64_t tokens;
  Floats query, key, value, hidden;  // [head, token, feature], hidden [token, feature]
  AttentionRequest request;
  AnyNormalizer normalizer = Softmax{};
  model::AttentionBlock block;

  Layer(Random& random, std::int64_t n, std::int64_t window, double cap)
      : tokens(n),
        query(random_floats(random, kHeads * n, kWidth)),
        key(random_floats(random, kKeyHeads * n, kWidth)),
        value(random_floats(random, kKeyHeads * n, kWidth)),
        hidden(random_floats(random, n, kHidden)) {
    request.query = TensorView<const float, 4>(query.data.data(), {1, kHeads, n, kWidth});
    request.key = TensorView<const float, 4>(key.data.data(), {1, kKeyHeads, n, kWidth});
    request.value = TensorView<const float, 4>(value.data.data(), {1, kKeyHeads, n, kWidth});
    request.causal = Causal::bottom_right;
    request.window.left = window > 0 ? window - 1 : -1;
    request.scale = 0.9;
    request.soft_cap = cap;
    block = {3, 0, kHeads, 0, n, &request, &normalizer};
    block.hidden = TensorView<const float, 2>(hidden.data.data(), {n, kHidden});
  }

  std::int64_t first_key(std::int64_t t) const {
    return request.window.left < 0 ? 0 : std::max<std::int64_t>(0, t - request.window.left);
  }
  std::vector<double> scores(std::int64_t head, std::int64_t t) const {
    std::vector<double> out;
    for (std::int64_t j = first_key(t); j <= t; ++j) {
      const PlainVector q = query.row(head * tokens + t), k = key.row(head / 2 * tokens + j);
      const double e = 0.9 * std::inner_product(q.begin(), q.end(), k.begin(), 0.0);
      out.push_back(request.soft_cap > 0 ? request.soft_cap * std::tanh(e / request.soft_cap) : e);
    }
    return out;
  }
  PlainRow row(std::int64_t head, std::int64_t t, Vectors vectors) const {
    PlainRow row{plain_softmax(scores(head, t)), {}};
    for (std::int64_t j = first_key(t); j <= t; ++j)
      row.vectors.push_back(vectors == Vectors::values ? value.row(head / 2 * tokens + j) : hidden.row(j));
    return row;
  }
};

AnalysisSettings small_settings() {
  AnalysisSettings s;
  s.length = 71;
  s.lengths = {10, 33, 71};
  s.length_top = 3;
  s.tops = {1, 3, 8};
  s.critical_most = 12;
  s.critical_lengths = {20, 71};
  s.separability_tops = {1, 4, 9};
  s.gradient = {{0.1, 1}, {1e-3, 0.5}};
  return s;
}

std::vector<HeadSums> analyzed(const Layer& layer, const RowPlan& plan, Vectors vectors, int threads) {
  std::vector<HeadSums> heads;
  for (std::int64_t head = 0; head < Layer::kHeads; ++head) heads.emplace_back(HeadPlace{3, head}, plan);
  analyze_block(layer.block, {&plan, vectors, 0, threads}, heads);
  return heads;
}

struct Mean {
  double sum = 0, count = 0;
  void add(double x) { sum += x, ++count; }
  double value() const { return sum / count; }
};

void expect_sums_written_out(const Layer& layer, const RowPlan& plan, Vectors vectors) {
  const auto heads = analyzed(layer, plan, vectors, 2);
  for (std::int64_t head = 0; head < Layer::kHeads; ++head) {
    const HeadSums& found = heads[static_cast<std::size_t>(head)];
    for (std::size_t l = 0; l < plan.lengths.size(); ++l) {
      for (std::size_t k = 0; k < plan.distances.tops.size(); ++k) {
        const auto top = static_cast<std::size_t>(plan.distances.tops[k]);
        Mean sum, norm, common;
        for (std::int64_t t = 0; t < plan.lengths[l]; ++t) {
          const PlainRow row = layer.row(head, t, vectors);
          if (row.keys() <= top) continue;
          sum.add(plain_sum_distance(row, plain_top(row.weights, top)));
          norm.add(plain_norm_distance(row, plain_top(row.weights, top)));
          if (t >= plan.common_from) common.add(plain_sum_distance(row, plain_top(row.weights, top)));
        }
        SCOPED_TRACE(::testing::Message() << "head " << head << ", L " << plan.lengths[l] << ", N " << top);
        EXPECT_EQ(found.by_length[l].distance_rows[k], static_cast<std::int64_t>(sum.count));
        if (sum.count == 0) continue;
        EXPECT_NEAR(mean_distance(found.by_length[l], k).sum.chosen, sum.value(), 1e-8 * sum.value());
        EXPECT_NEAR(mean_distance(found.by_length[l], k).norm.chosen, norm.value(), 1e-7 * sum.value());
        if (l + 1 == plan.lengths.size()) {
          EXPECT_NEAR(mean_distance(found.common, k).sum.chosen, common.value(), 1e-8 * common.value());
        }
      }
    }
    for (std::size_t k = 0; k < plan.separability_tops.size(); ++k) {
      Mean share;
      for (std::int64_t t = 0; t < layer.tokens; ++t) {
        const PlainRow row = layer.row(head, t, vectors);
        const auto top = static_cast<std::size_t>(plan.separability_tops[k]);
        if (row.keys() > top) share.add(plain_separability(row, top));
      }
      EXPECT_NEAR(mean_separability(found.by_length.back(), k).share, share.value(), 1e-12);
    }
  }
}

TEST(AnalysisBlocks, MeansOverRowsAreThoseOfTheDefinition) {
  for_each_seed(1, [](Random& random) {
    const RowPlan plan = plan_of(small_settings());
    for (const std::int64_t window : {0, 17}) {
      for (const double cap : {0.0, 2.5}) {
        const Layer layer(random, 71, window, cap);
        for (const Vectors vectors : {Vectors::values, Vectors::hidden}) {
          SCOPED_TRACE(::testing::Message() << name_of(vectors) << ", window " << window << ", cap " << cap);
          expect_sums_written_out(layer, plan, vectors);
        }
      }
    }
  });
}

TEST(AnalysisBlocks, TheGradientIsTheMeanOverRowsOfThatOfTheScores) {
  Random random(4);
  const RowPlan plan = plan_of(small_settings());
  const Layer layer(random, 71, 0, 0);
  const auto heads = analyzed(layer, plan, Vectors::values, 1);
  for (std::int64_t head = 0; head < Layer::kHeads; ++head) {
    // Directions are random: the mean over 70 rows of a quantity whose square averages to |J|_F^2 / n.
    Mean square;
    for (std::int64_t t = 1; t < 71; ++t) {
      const auto w = plain_softmax(layer.scores(head, t));
      double frobenius = 0, sum = 0, cube = 0;
      for (const double a : w) sum += a * a, cube += a * a * a;
      frobenius = sum - 2 * cube + sum * sum;  // of diag(w) - w w^T
      square.add(std::sqrt(frobenius / static_cast<double>(w.size())));
    }
    const double g =
        mean_gradient(heads[static_cast<std::size_t>(head)].by_length.back(), 2);  // T = 1, e = 1e-3
    EXPECT_LE(g, 1.3 * square.value()) << "seed 4";
    EXPECT_GE(g, 0.5 * square.value()) << "seed 4";
  }
}

std::vector<std::uint64_t> bits_of_sums(const std::vector<HeadSums>& heads) {
  std::vector<std::uint64_t> bits;
  const auto add = [&](double x) { bits.push_back(std::bit_cast<std::uint64_t>(x)); };
  for (const HeadSums& head : heads) {
    for (const RowSums& sums : head.by_length) {
      for (const Distances& d : sums.distances)
        for (const Distance* r : {&d.sum, &d.norm})
          for (const double x : {r->chosen, r->drawn, r->drawn_bound, r->chosen_bound}) add(x);
      for (const Separability& s : sums.separability) add(s.share), add(s.bound), add(s.counted);
      for (const double g : sums.gradient) add(g);
    }
  }
  return bits;
}

TEST(AnalysisBlocks, ResultsAreTheSameBitsForAnyNumberOfThreads) {
  Random random(6);
  const RowPlan plan = plan_of(small_settings());
  const Layer layer(random, 71, 0, 0);
  for (const Vectors vectors : {Vectors::values, Vectors::hidden}) {
    const auto one = bits_of_sums(analyzed(layer, plan, vectors, 1));
    EXPECT_GT(one.size(), 1000u);
    for (const int threads : {2, 3, 8})
      EXPECT_TRUE(bits_of_sums(analyzed(layer, plan, vectors, threads)) == one) << threads;
  }
}

TEST(AnalysisBlocks, ABlockThatIsNotTheWholeChunkIsRefused) {
  Random random(1);
  const RowPlan plan = plan_of(small_settings());
  const Layer layer(random, 70, 0, 0);
  EXPECT_THROW(analyzed(layer, plan, Vectors::values, 1), Error);
}

class AnalysisModel : public ::testing::Test {
 protected:
  AnalysisModel() {
    TinyModel().write(folder_ / "tiny.gguf");
    model_ = std::make_unique<model::Model>(folder_ / "tiny.gguf");
    Random random(8);
    for (int i = 0; i < 200; ++i) tokens_.push_back(static_cast<model::Token>(random.size(0, 96)));
  }
  HeadMeasurements measured(std::span<const model::Token> tokens, std::int64_t chunks, int threads = 1) {
    AnalysisSettings s = small_settings();
    s.chunks = chunks;
    model::SessionSettings session;
    session.capacity = session.block = 71;
    session.threads = threads;
    model::Session run(*model_, session);
    return measure_heads(run, {tokens, {}}, s, threads);
  }

  Folder folder_{"analysis"};
  std::unique_ptr<model::Model> model_;
  std::vector<model::Token> tokens_;
};

TEST_F(AnalysisModel, EveryHeadIsMeasuredAndThreadsDoNotMatter) {
  const HeadMeasurements found = measured(tokens_, 1);
  ASSERT_EQ(found.heads.size(), 8u);
  for (const HeadSums& head : found.heads) {
    EXPECT_EQ(head.by_length.back().distance_rows[0], 70);
    EXPECT_GT(mean_distance(head.by_length.back(), 0).sum.chosen, 0);
  }
  EXPECT_TRUE(found.plain_softmax);
  EXPECT_TRUE(bits_of_sums(measured(tokens_, 1, 3).heads) == bits_of_sums(found.heads));
}

TEST_F(AnalysisModel, ChunksAreConsecutiveAndReadFromAnEmptyCache) {
  const HeadMeasurements both = measured(tokens_, 2), first = measured(tokens_, 1),
                         second = measured(std::span(tokens_).subspan(71), 1);
  for (std::size_t h = 0; h < both.heads.size(); ++h) {
    const auto sum_of = [&](const HeadMeasurements& m) {
      return m.heads[h].by_length.back().distances[0].sum.chosen;
    };
    EXPECT_NEAR(sum_of(both), sum_of(first) + sum_of(second), 1e-10 * sum_of(both));
    EXPECT_EQ(both.heads[h].by_length.back().distance_rows[0], 140);
  }
}

TEST_F(AnalysisModel, ATextTooShortIsUsedAsFarAsItGoesAndSaysSo) {
  const HeadMeasurements found = measured(std::span(tokens_).first(25), 3);
  EXPECT_EQ(found.settings.length, 25);
  EXPECT_EQ(found.settings.chunks, 1);
  EXPECT_EQ(found.plan.lengths.back(), 25);
  EXPECT_GE(found.notes.size(), 3u);
  EXPECT_THROW(measured(std::span(tokens_).first(1), 1), Error);
}

}  // namespace
}  // namespace sharpmax::test
