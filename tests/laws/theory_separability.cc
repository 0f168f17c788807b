// Paper B's separability: its lower side holds for every row, counting is never worse, and the upper side as
// rebuilt is no bound.
#include <gtest/gtest.h>

#include <numbers>
#include <numeric>

#include "sharpmax/error.h"
#include "support/row.h"
#include "theory/selection.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

using Vector = std::vector<double>;

double norm_of(const Vector& x) {
  double square = 0.0;
  for (const double v : x) square += v * v;
  return std::sqrt(square);
}
Vector plus(Vector a, double factor, const Vector& b) {
  for (std::size_t f = 0; f < a.size(); ++f) a[f] += factor * b[f];
  return a;
}

// The first N of the keys are selected.
struct Measured {
  Row distances;  // |s - alpha_i x_i| of the selected
  double radius = 0.0, separation = HUGE_VAL, nearest = HUGE_VAL, share = 0.0;

  Measured(const Row& weights, const std::vector<Vector>& x, std::size_t n) {
    Vector s(x[0].size(), 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      s = plus(s, weights[i], x[i]);
      radius = std::max(radius, norm_of(x[i]));
      for (std::size_t j = 0; j < i; ++j) separation = std::min(separation, norm_of(plus(x[i], -1.0, x[j])));
    }
    for (std::size_t i = n; i < x.size(); ++i)
      nearest = std::min(nearest, norm_of(plus(s, -weights[i], x[i])));
    for (std::size_t i = 0; i < n; ++i) {
      distances.push_back(norm_of(plus(s, -weights[i], x[i])));
      if (distances.back() < nearest) share += 1.0 / static_cast<double>(n);
    }
    if (n == 1) separation = 0.0;
  }
};

TEST(TheorySeparability, TheLowerSideHoldsForEveryRowAndCountingIsNeverWorse) {
  int useful = 0, better = 0;
  for_each_seed(3000, [&](Random& random) {
    const std::size_t length = random.size(2, 14), n = random.size(1, length - 1), width = random.size(1, 8);
    Row weights = weigh(Softmax{}, random.row(length, random.log_uniform(0.1, 4.0))).weights;
    std::sort(weights.rbegin(), weights.rend());
    std::vector<Vector> x(length);
    for (Vector& v : x) {
      v = random.row(width, 1.0);
      const double norm = norm_of(v);
      for (double& e : v) e /= norm;
    }
    const Measured found(weights, x, n);
    const SeparabilityFacts facts{std::span(weights).first(n), found.radius,
                                  std::min(found.separation, 2 * found.radius)};
    const Row reaches = separability_reaches(facts);
    for (std::size_t i = 0; i < n; ++i) EXPECT_LE(found.distances[i], reaches[i] * (1.0 + 1e-9) + 1e-7);
    const double low = separability_lower_bound(facts, found.nearest);
    const double counted = counted_separability_lower_bound(facts, found.nearest);
    EXPECT_LE(low, found.share + 1e-9);
    EXPECT_LE(counted, found.share + 1e-9);
    EXPECT_LE(low, counted + 1e-9);
    useful += low > 0.0;
    better += counted > std::max(0.0, low) + 0.01;
  });
  EXPECT_GT(useful, 20);  // else nothing was tested
  EXPECT_GT(better, 20);
}

// Two pairs of unit vectors that cancel: s is near 0 and all four are told from a fifth. The reaches know the
// least separation alone, which is that of a pair, and think them far.
TEST(TheorySeparability, TheUpperSideAsRebuiltIsPassed) {
  const Row weights(5, 0.2);
  const auto at = [](double degrees) {
    const double angle = degrees * std::numbers::pi / 180.0;
    return Vector{std::cos(angle), std::sin(angle)};
  };
  const std::vector<Vector> x{at(5.0), at(-5.0), at(170.0), at(190.0), at(180.0)};
  const Measured found(weights, x, 4);
  const SeparabilityFacts facts{std::span(weights).first(4), found.radius, found.separation};
  EXPECT_DOUBLE_EQ(found.share, 1.0);
  EXPECT_LT(separability_reference(facts, found.nearest), 0.6);
}

TEST(TheorySeparability, HypothesesAreChecked) {
  const Row weights{0.5, 0.3, 0.2}, negative{0.5, -0.1};
  EXPECT_THROW(separability_reaches({{}, 1.0, 0.0}), Error);
  EXPECT_THROW(separability_reaches({weights, 0.0, 0.0}), Error);
  EXPECT_THROW(separability_reaches({weights, 1.0, 2.1}), Error);
  EXPECT_THROW(separability_reaches({weights, 1.0, -0.1}), Error);
  EXPECT_THROW(separability_reaches({negative, 1.0, 0.0}), Error);
  EXPECT_THROW(separability_lower_bound({weights, 1.0, 0.0}, 0.0), Error);
  // Ten unit vectors that are pairwise opposite do not exist.
  EXPECT_THROW(separability_reaches({Row(10, 0.1), 1.0, 2.0}), Error);
}

}  // namespace
}  // namespace sharpmax::test
