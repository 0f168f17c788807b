// Bounds of eigenvalues and of inner products come from above, and from near.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "audit/certificate/spectrum.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::audit;

// From below: the Rayleigh quotient after many multiplications, in long double.
double power_iteration(const Symmetric& a, Random& random) {
  std::vector<long double> x(static_cast<std::size_t>(a.size));
  for (auto& v : x) v = random.normal();
  long double quotient = 0;
  for (int step = 0; step < 3000; ++step) {
    std::vector<long double> y(x.size(), 0);
    long double product = 0, size = 0, squares = 0;
    for (std::int64_t i = 0; i < a.size; ++i) {
      for (std::int64_t j = 0; j < a.size; ++j)
        y[static_cast<std::size_t>(i)] += static_cast<long double>(a(i, j)) * x[static_cast<std::size_t>(j)];
      product += x[static_cast<std::size_t>(i)] * y[static_cast<std::size_t>(i)];
      size += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)];
      squares += y[static_cast<std::size_t>(i)] * y[static_cast<std::size_t>(i)];
    }
    quotient = product / size;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = y[i] / std::sqrt(squares);
  }
  return static_cast<double>(quotient);
}

TEST(LargestEigenvalue, IsAboveWhatPowerIterationFindsAndNear) {
  for_each_seed(40, [](Random& random) {
    const auto size = static_cast<std::int64_t>(random.size(1, 24));
    const auto rank = static_cast<std::int64_t>(random.size(1, 30));
    const double factor = random.log_uniform(1e-100, 1e100);
    std::vector<double> rows(static_cast<std::size_t>(size * rank));
    for (double& x : rows) x = factor * random.normal();
    const Symmetric gram = gram_of(rows, size, rank);
    const double bound = largest_eigenvalue(gram), reached = power_iteration(gram, random);
    EXPECT_GE(bound, reached * (1.0 - 1e-15));
    EXPECT_LE(bound, reached * (1.0 + 1e-5));
  });
}

TEST(LargestEigenvalue, OfEqualEigenvaluesOfZerosAndOfWhatIsNotANumber) {
  Symmetric a{3, {2, 0, 0, 0, 2, 0, 0, 0, 2}};
  EXPECT_GE(largest_eigenvalue(a), 2.0);
  EXPECT_LE(largest_eigenvalue(a), 2.0 * (1 + 1e-6));
  EXPECT_EQ(largest_eigenvalue({2, {0, 0, 0, 0}}), 0.0);
  a(1, 1) = std::nan("");
  EXPECT_TRUE(std::isnan(largest_eigenvalue(a)));
}

TEST(Cholesky, GivesBackTheMatrixWithinItsError) {
  for_each_seed(30, [](Random& random) {
    const auto size = static_cast<std::int64_t>(random.size(1, 20)), rank = size - (size > 2 ? 1 : 0);
    std::vector<double> rows(static_cast<std::size_t>(size * rank));
    for (double& x : rows) x = random.normal();
    const Symmetric gram = gram_of(rows, size, rank);  // singular where size > 2
    const double lift = 4.0 * (gemm_error(rank) + gemm_error(size)) * gram.trace();
    const Factor f = cholesky(gram, lift);
    ASSERT_TRUE(std::isfinite(f.error));
    double squares = 0.0;
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < size; ++k) sum += f.lower(i, k) * f.lower(j, k);
        const double off = sum - gram(i, j) - (i == j ? lift : 0.0);
        squares += off * off;
      }
    EXPECT_LE(std::sqrt(squares), f.error);
  });
  EXPECT_TRUE(std::isinf(cholesky({2, {1, 2, 2, 1}}, 0.0).error));  // not positive
}

TEST(LargestProduct, IsThatOfAllPairsThoughMostAreNotLookedAt) {
  for_each_seed(12, [](Random& random) {
    const auto groups = static_cast<std::int64_t>(random.size(1, 24));
    const auto draw = [&](std::size_t count) {
      Magnitudes m{static_cast<std::int64_t>(count), groups, {}};
      const double tail = random.uniform(0.2, 2.0);
      for (std::size_t i = 0; i < count; ++i) {
        const double size = std::exp(tail * random.normal());
        for (std::int64_t g = 0; g < groups; ++g)
          m.values.push_back(
              static_cast<float>(size * std::abs(random.normal()) * std::exp(0.3 * static_cast<double>(g))));
      }
      return m;
    };
    const Magnitudes query = draw(random.size(1, 1500)), key = draw(random.size(1, 1500));
    double work = 0.0, largest = 0.0;
    const LargestProduct found = largest_product(query, key, 5, [&](double done) { work += done; });
    std::int64_t best = 0;
    for (std::int64_t a = 0; a < query.count; ++a)
      for (std::int64_t b = 0; b < key.count; ++b) {
        double sum = 0.0;
        for (std::int64_t g = 0; g < groups; ++g)
          sum += static_cast<double>(query.values[static_cast<std::size_t>(a * groups + g)]) *
                 static_cast<double>(key.values[static_cast<std::size_t>(b * groups + g)]);
        if (sum > largest) largest = sum, best = a;
      }
    EXPECT_GE(found.bound, largest);
    EXPECT_LE(found.bound, largest * (1.0 + 1e-5));
    EXPECT_EQ(found.queries.front(), best);
    EXPECT_EQ(std::ssize(found.queries), std::min<std::int64_t>(5, query.count));
    EXPECT_DOUBLE_EQ(work, static_cast<double>(query.count * key.count * groups));
  });
}

// Lengths tell nothing here: the best pair is two equal vectors, shorter than all others.
TEST(LargestProduct, FindsAPairThatIsNotAmongTheLongest) {
  for_each_seed(3, [](Random& random) {
    constexpr std::int64_t kGroups = 128, kCount = 1400;
    Magnitudes query{kCount, kGroups, {}}, key = query;
    const auto add = [&](Magnitudes& m, const Row& direction, double length) {
      double squares = 0.0;
      for (const double x : direction) squares += x * x;
      for (const double x : direction)
        m.values.push_back(static_cast<float>(length * std::abs(x) / std::sqrt(squares)));
    };
    for (std::int64_t i = 0; i + 1 < kCount; ++i) {
      add(query, random.row(kGroups, 1.0), 1.0);
      add(key, random.row(kGroups, 1.0), 1.0);
    }
    const Row planted = random.row(kGroups, 1.0);
    add(query, planted, 0.97);
    add(key, planted, 0.97);
    const LargestProduct found = largest_product(query, key, 1, [](double) {});
    constexpr double kMargin = 2.0 * (kGroups + 9) * 0x1p-24;  // the bound's own, for sums in float
    EXPECT_LE(found.bound, 0.97 * 0.97 * (1 + kMargin));
    EXPECT_GE(found.bound, 0.97 * 0.97 * (1 - 1e-7));  // vectors in float
    EXPECT_EQ(found.queries.front(), kCount - 1);
  });
}

}  // namespace
}  // namespace sharpmax::test
