// What a row says of itself does not depend on what else was asked.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "sharpmax/attention.h"
#include "support/attention_buffers.h"

namespace sharpmax {
namespace {

constexpr std::int64_t kHeads = 2, kKeys = 70, kFeatures = 16;

using sharpmax::test::AllStatistics;

class StatisticsAlone : public testing::TestWithParam<const char*> {};

// One query takes the plan for decoding, many that for prompts. The plan may change with what is asked, and
// with it the last bits.
void compare(const AnyNormalizer& normalizer, std::int64_t queries) {
  std::vector<float> numbers(static_cast<std::size_t>(kHeads * (queries + 2 * kKeys) * kFeatures));
  const CounterRandom random(7, static_cast<std::uint64_t>(queries));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 2 * random.normals(i / 4)[i % 4];
  std::vector<float> out(static_cast<std::size_t>(kHeads * queries * kFeatures));
  const float* const keys = numbers.data() + kHeads * queries * kFeatures;
  AttentionRequest request;
  request.query = TensorView<const float, 4>(numbers.data(), {1, kHeads, queries, kFeatures});
  request.key = TensorView<const float, 4>(keys, {1, kHeads, kKeys, kFeatures});
  request.value =
      TensorView<const float, 4>(keys + kHeads * kKeys * kFeatures, {1, kHeads, kKeys, kFeatures});
  request.causal = Causal::bottom_right;
  const TensorView<float, 4> to(out.data(), {1, kHeads, queries, kFeatures});
  const AllStatistics all(1, kHeads, queries, kKeys);
  attend(request, normalizer, to, &all.view);
  each_row_statistic([&]<class T>(const RowStatistic<T>& statistic) {
    const auto field = statistic.view;
    // With something that needs whole rows, and without.
    for (const bool with_spread : {false, true}) {
      const AllStatistics one(1, kHeads, queries, kKeys);
      RowStatistics asked;
      asked.*field = one.view.*field;
      if (with_spread) asked.score_spread = one.view.score_spread;
      attend(request, normalizer, to, &asked);
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t q = 0; q < queries; ++q) {
          const auto wanted = static_cast<double>((all.view.*field)(0, h, q));
          const auto found = static_cast<double>((asked.*field)(0, h, q));
          if (std::isnan(wanted) && std::isnan(found)) continue;  // a normalizer without a temperature or threshold
          EXPECT_NEAR(found, wanted, 1e-4 * (1 + std::abs(wanted)))
              << statistic.name() << (with_spread ? " with the spread" : " alone") << ", head " << h << ", query " << q;
        }
    }
  });
}

TEST_P(StatisticsAlone, AreWhatTheyAreAmongAll) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  compare(normalizer, 1);
  compare(normalizer, 33);
}

INSTANTIATE_TEST_SUITE_P(Some, StatisticsAlone,
                         testing::Values("softmax", "adaptive", "entropy_target:nats=0.5", "sparsemax",
                                         "entmax:alpha=1.3", "sink", "sigmoid", "stick_breaking",
                                         "top_k:k=3"));

// first_weight against column_mass, which is another road to the same weights.
TEST(FirstWeight, IsTheColumnOfTheFirstKey) {
  constexpr std::int64_t kQueries = 40;
  std::vector<float> scores(kQueries * kKeys), weights(scores.size());
  const CounterRandom random(11, 0);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = 3 * random.normals(i / 4)[i % 4];
  const AllStatistics all(1, 1, kQueries, kKeys);
  const Extents<4> shape{1, 1, kQueries, kKeys};
  normalize(TensorView<const float, 4>(scores.data(), shape), Softmax{},
            TensorView<float, 4>(weights.data(), shape), &all.view);
  double sum = 0;
  for (std::int64_t q = 0; q < kQueries; ++q) {
    EXPECT_NEAR(all.view.first_weight(0, 0, q), weights[static_cast<std::size_t>(q * kKeys)], 1e-6)
        << "query " << q;
    sum += all.view.first_weight(0, 0, q);
  }
  EXPECT_NEAR(sum, all.view.column_mass(0, 0, 0), 1e-5);
}

}  // namespace
}  // namespace sharpmax
