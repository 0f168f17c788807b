// Paper B's distances: the expectation is exact, neither bound is passed, and hypotheses are asked for.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "sharpmax/error.h"
#include "support/row.h"
#include "theory/selection.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

struct Example {
  Row weights, vectors;
  std::size_t features;
  std::vector<std::size_t> by_weight;

  Example(Random& random, std::size_t length, std::size_t width)
      : weights(weigh(Softmax{}, random.row(length, random.log_uniform(0.1, 5.0))).weights),
        vectors(random.row(length * width, 1.0)),
        features(width),
        by_weight(length) {
    std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
    std::sort(by_weight.begin(), by_weight.end(),
              [&](std::size_t i, std::size_t j) { return weights[i] > weights[j]; });
  }
  WeightedRow row() const { return {weights, vectors, features}; }
  std::span<const std::size_t> top(std::size_t n) const { return std::span(by_weight).first(n); }
};

TEST(TheoryDistance, NoRowPassesTheBoundForAFixedSelection) {
  for_each_seed(1500, [](Random& random) {
    const Example example(random, random.size(2, 24), random.size(1, 6));
    const auto selected = example.top(random.size(1, example.weights.size() - 1));
    for (const DistanceReading reading : {DistanceReading::cumulative, DistanceReading::joint}) {
      const double bound = fixed_selection_bound(selection_facts(example.row(), selected), reading);
      EXPECT_LE(selection_distance(example.row(), selected, reading), bound * (1.0 + 1e-9));
    }
  });
}

TEST(TheoryDistance, EqualVectorsReachTheBoundForAFixedSelection) {
  for_each_seed(50, [](Random& random) {
    Example example(random, 9, 3);
    for (std::size_t i = 3; i < example.vectors.size(); ++i) example.vectors[i] = example.vectors[i - 3];
    for (const std::size_t n : {1u, 4u, 8u})
      for (const DistanceReading reading : {DistanceReading::cumulative, DistanceReading::joint}) {
        const double bound = fixed_selection_bound(selection_facts(example.row(), example.top(n)), reading);
        EXPECT_NEAR(selection_distance(example.row(), example.top(n), reading), bound, 1e-9 * (1.0 + bound));
      }
  });
}

// Over all selections of N keys, one at a time.
TEST(TheoryDistance, TheExpectedSquareIsExactAndTheRandomBoundHolds) {
  for_each_seed(40, [](Random& random) {
    const std::size_t length = random.size(2, 9), features = random.size(1, 4);
    const Example example(random, length, features);
    const auto n = random.size(1, length - 1);
    const auto y = [&](std::size_t i, std::size_t f) {
      return example.weights[i] * example.vectors[i * features + f];
    };
    Row sum(features, 0.0), squares(length, 0.0), products(length, 0.0);
    for (std::size_t i = 0; i < length; ++i)
      for (std::size_t f = 0; f < features; ++f) sum[f] += y(i, f), squares[i] += y(i, f) * y(i, f);
    for (std::size_t i = 0; i < length; ++i)
      for (std::size_t f = 0; f < features; ++f) products[i] += y(i, f) * sum[f];
    GramSums sums{.length = static_cast<double>(length), .selected = static_cast<double>(n)};
    sums.squares = oracle::sum(squares);
    for (const double x : sum) sums.sum_square += x * x;

    Row square_sums(length, 0.0), counts(length, 0.0);
    double distance_sum = 0.0, selections = 0.0;
    for (unsigned mask = 0; mask < 1u << length; ++mask) {
      if (std::popcount(mask) != static_cast<int>(n)) continue;
      std::vector<std::size_t> selected;
      for (std::size_t i = 0; i < length; ++i)
        if (mask >> i & 1u) selected.push_back(i);
      distance_sum += selection_distance(example.row(), selected);
      ++selections;
      for (std::size_t i = 0; i < length; ++i) {
        if (mask >> i & 1u) continue;
        double square = 0.0;
        for (std::size_t f = 0; f < features; ++f) {
          double s = 0.0;
          for (const std::size_t j : selected) s += y(j, f);
          square += (s - y(i, f)) * (s - y(i, f));
        }
        square_sums[i] += square;
        ++counts[i];
      }
    }
    for (std::size_t i = 0; i < length; ++i)
      EXPECT_NEAR(expected_square_distance(sums, squares[i], products[i]), square_sums[i] / counts[i], 1e-12);
    const double bound = random_selection_bound(sums, squares, products);
    EXPECT_LE(distance_sum / selections, bound * (1.0 + 1e-12));
    EXPECT_NEAR(random_selection_bound(example.row(), n), bound, 1e-12 * (1.0 + bound));
  });
}

TEST(TheoryDistance, HypothesesAreChecked) {
  const Row weights{0.5, 0.3, 0.2}, vectors{1.0, 2.0, 3.0};
  const WeightedRow row{weights, vectors, 1};
  const std::vector<std::size_t> first{0}, last{2}, twice{0, 0}, outside{3}, all{0, 1, 2};
  EXPECT_NO_THROW(selection_facts(row, first));
  EXPECT_THROW(selection_facts(row, last), Error);  // a key left out has more than all that is selected
  EXPECT_THROW(selection_distance(row, twice), Error);
  EXPECT_THROW(selection_distance(row, outside), Error);
  EXPECT_THROW(selection_distance(row, all), Error);
  EXPECT_THROW(selection_distance(row, {}), Error);
  EXPECT_THROW(selection_distance({weights, vectors, 2}, first), Error);
  const Row short_weights{0.5, 0.3, 0.1};
  EXPECT_THROW(selection_facts({short_weights, vectors, 1}, first), Error);
  EXPECT_THROW(fixed_selection_bound({.length = 3, .selected = 3, .selected_sum = 1}), Error);
  EXPECT_THROW(fixed_selection_bound({.length = 3, .selected = 1, .selected_sum = 1.1}), Error);
  EXPECT_THROW(random_selection_bound(row, 3), Error);
  EXPECT_THROW(random_selection_bound({.length = 3, .selected = 1}, weights, std::span(vectors).first(2)),
               Error);
}

}  // namespace
}  // namespace sharpmax::test
