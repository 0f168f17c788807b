// Scores summed from a class's Chebyshev series against scores computed item by item, and against long
// double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "retrieval/task/task.h"
#include "retrieval/testing/evaluation_block.h"
#include "support/random.h"

namespace sharpmax::retrieval {
namespace {

Head head_of_curves(test::Random& random, double size) {
  Head head;
  head.training.width = 24;
  head.training.classes = 4;
  head.parameters = initial_parameters(head.training, random.size(0, 1'000'000));
  for (double& p : head.parameters) p *= size;
  return head;
}

long double gelu_exactly(long double x) {
  constexpr long double kScale = 0.797884560802865355879892119868763737L;
  return 0.5L * x * (1.0L + std::tanh(kScale * (x + 0.044715L * x * x * x)));
}

// Priorities over all of [0, 1), and crowded just below 1 where it matters most.
Set items_of(test::Random& random, std::int64_t n) {
  Set set;
  for (std::int64_t i = 0; i < n; ++i) {
    const double unit = random.uniform();
    set.priorities.push_back(i % 2 == 0 ? unit : 1.0 - 1e-6 * unit);
    set.classes.push_back(static_cast<std::int32_t>(random.size(0, 3)));
  }
  return set;
}

TEST(ScoreCurves, GiveTheScoresOfItemsTakenOneByOne) {
  constexpr double kEps = std::numeric_limits<double>::epsilon();
  double worst = 0.0, worst_direct = 0.0;
  test::for_each_seed(20, [&](test::Random& random) {
    const Head head = head_of_curves(random, random.log_uniform(0.3, 20.0));
    const FoldedHead folded(head);
    const ItemLayer layer(folded);
    const ScoreCurves curves(folded);
    ASSERT_LT(curves.nodes(), 1024);
    const Set set = items_of(random, 501);
    const std::vector<double> t = folded.query_vector(random.uniform());
    std::vector<double> query(layer.stride), direct(501), summed(501);
    std::copy_n(t.begin(), 24, query.begin());
    const Items items{set.priorities, set.classes};
    score_items(layer, query, t[24], items, direct);
    ScoreCurves::Workspace workspace;
    curves.score(layer, query, t[24], items, workspace, summed);
    // What may cancel in the score, with GELU at most |x| anywhere on the curve.
    double size = std::abs(t[24]);
    for (std::size_t j = 0; j < 24; ++j) {
      double largest = 0.0;
      for (std::size_t c = 0; c < 4; ++c)
        largest = std::max(largest, std::abs(folded.item_offset[c * 24 + j]));
      size += std::abs(t[j]) * (largest + std::abs(folded.item_slope[j]));
    }
    for (std::size_t i = 0; i < 501; ++i) {
      long double exact = t[24];
      for (std::size_t j = 0; j < 24; ++j)
        exact += static_cast<long double>(t[j]) *
                 gelu_exactly(static_cast<long double>(folded.item_slope[j]) * set.priorities[i] +
                              folded.item_offset[static_cast<std::size_t>(set.classes[i]) * 24 + j]);
      const double error = std::abs(static_cast<double>(summed[i] - exact)) / (kEps * size);
      worst = std::max(worst, error);
      worst_direct = std::max(worst_direct, std::abs(static_cast<double>(direct[i] - exact)) / (kEps * size));
      // Clenshaw's recurrence: at most a rounding or two for each of its steps.
      ASSERT_LE(error, 2.0 * static_cast<double>(curves.nodes())) << "item " << i;
    }
  });
  std::printf("    worst error in eps of what may cancel: series %.2f, item by item %.2f\n", worst,
              worst_direct);
}

TEST(ScoreCurves, AreNotUsedWhereItemsAreFewOrCurvesSteep) {
  test::Random random(1);
  const FoldedHead gentle(head_of_curves(random, 1.0));
  EXPECT_FALSE(ScoreCurves(gentle).worth_it(64));
  EXPECT_TRUE(ScoreCurves(gentle).worth_it(16'384));
  const FoldedHead steep(head_of_curves(random, 1e9));
  EXPECT_FALSE(ScoreCurves(steep).worth_it(std::int64_t{1} << 28));
}

}  // namespace
}  // namespace sharpmax::retrieval
