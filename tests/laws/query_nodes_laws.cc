// A query's curve from a few nodes: interpolation is as good as the type the curve is computed in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "retrieval/head/folded.h"
#include "support/random.h"

namespace sharpmax::retrieval {
namespace {

double worst_error(double slope, double offset, std::int64_t r) {
  const std::vector<double> nodes = chebyshev_nodes(r);
  std::vector<double> coefficients(nodes.size());
  double worst = 0.0;
  for (int i = 0; i <= 200; ++i) {
    const double y = i / 200.0;
    interpolate_at(nodes, y, coefficients);
    double sum = 0.0;
    for (std::size_t k = 0; k < nodes.size(); ++k) sum += coefficients[k] * gelu(slope * nodes[k] + offset);
    worst = std::max(worst, std::abs(sum - gelu(slope * y + offset)));
  }
  return worst;
}

TEST(QueryNodes, InterpolateGeluToTheRoundingOfItsType) {
  for (const double roundoff :
       {0.5 * std::numeric_limits<float>::epsilon(), 0.5 * std::numeric_limits<double>::epsilon()}) {
    double worst = 0.0;
    test::for_each_seed(300, [&](test::Random& random) {
      const double slope = std::exp(random.uniform(std::log(0.01), std::log(30.0)));
      const double offset = random.uniform(-slope - 3.0, 3.0);
      const double size = slope + std::abs(offset);  // GELU is at most this large on the interval
      const std::int64_t r = nodes_needed(slope, roundoff);
      const double error = worst_error(slope, offset, r) / (roundoff * std::max(size, 1.0));
      worst = std::max(worst, error);
      // The interpolant's own sums in double: r terms of the Lebesgue constant, 1 + 2/pi ln(r + 1).
      const double own =
          0.5 * std::numeric_limits<double>::epsilon() / roundoff * 4.0 * static_cast<double>(r);
      ASSERT_LE(error, 1.0 + own) << "slope " << slope << ", offset " << offset << ", " << r << " nodes";
    });
    std::printf("    largest error at roundoff %.1e: %.2f of it\n", roundoff, worst);
  }
}

TEST(QueryNodes, AreFewWhereTheCurveIsSmoothAndTwoGiveEveryStraightLine) {
  EXPECT_LE(nodes_needed(1.0, 0x1p-24), 16);
  EXPECT_LT(nodes_needed(1.0, 0x1p-53), nodes_needed(10.0, 0x1p-53));
  for (const double absurd : {1e15, 1e30, 1e300})
    EXPECT_GT(nodes_needed(absurd, 0x1p-53), 1'000'000'000) << absurd;
  const std::vector<double> nodes = chebyshev_nodes(2);
  std::vector<double> coefficients(2);
  for (const double y : {0.0, 0.1, nodes[0], 0.5, nodes[1], 1.0}) {
    interpolate_at(nodes, y, coefficients);
    EXPECT_NEAR(coefficients[0] * (3.0 - 2.0 * nodes[0]) + coefficients[1] * (3.0 - 2.0 * nodes[1]),
                3.0 - 2.0 * y, 1e-15);
  }
}

}  // namespace
}  // namespace sharpmax::retrieval
