// Paper B's measures of one row, by Gram matrices and running sums, against the same written out.
#include <gtest/gtest.h>

#include <set>

#include "audit/analysis/row_geometry.h"
#include "support/attention_normalizers.h"
#include "support/paper_b_plain.h"
#include "support/row.h"
#include "theory/selection.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::audit;

// Squares carry rounding of some hundred times 1e-16 of their largest term. A root keeps half of the digits
// where its square cancels: kRoot where that may be the whole result, kRelative where it is one key of a sum
// over many.
constexpr double kRelative = 1e-9, kRoot = 1e-7;

// The matrices that the measures are handed, of one row.
struct Products {
  std::vector<double> gram, output;
  WeighedRow view;

  explicit Products(const PlainRow& row) : gram(row.keys() * row.keys()), output(row.keys()) {
    const std::size_t n = row.keys();
    PlainVector all(row.vectors[0].size());
    for (std::size_t i = 0; i < n; ++i) plain_add(all, row.y(i));
    const auto dot = [](const PlainVector& a, const PlainVector& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    for (std::size_t i = 0; i < n; ++i) {
      output[i] = dot(row.vectors[i], all);
      for (std::size_t j = 0; j < n; ++j) gram[i * n + j] = dot(row.vectors[i], row.vectors[j]);
    }
    const auto keys = static_cast<std::int64_t>(n);
    view = {{gram.data(), keys, keys}, row.weights.data(), output.data()};
  }
};

DistancePlan every_top(std::size_t keys, int draws = 1) {
  DistancePlan plan;
  for (std::size_t top = 1; top < keys + 3; ++top) plan.tops.push_back(static_cast<std::int64_t>(top));
  plan.bounded.assign(plan.tops.size(), true);
  plan.draws = draws;
  return plan;
}

std::vector<Distances> distances_of(const PlainRow& row, const DistancePlan& plan, std::uint64_t seed) {
  const Products products(row);
  std::vector<Distances> out(plan.tops.size());
  RowDistances().add(products.view, plan, CounterRandom(seed, 7), 3, out);
  return out;
}

TEST(AnalysisRows, DistancesAreThoseOfTheDefinitionForEveryN) {
  for_each_target([](const std::string& target) {
    SCOPED_TRACE(target);
    for_each_seed(40, [](Random& random) {
      const std::size_t keys = random.size(2, 70);
      const PlainRow row = random_plain_row(random, keys, random.size(1, 9), random.uniform(0, 6));
      const auto found = distances_of(row, every_top(keys), 5);
      std::vector<std::int32_t> drawn;
      random_keys(CounterRandom(5, 7), 3, static_cast<std::int64_t>(keys), static_cast<std::int64_t>(keys),
                  drawn);
      for (std::size_t top = 1; top < keys; ++top) {
        SCOPED_TRACE(::testing::Message() << keys << " keys, N = " << top);
        const auto chosen = plain_top(row.weights, top);
        const std::vector<std::size_t> random_ones(drawn.begin(),
                                                   drawn.begin() + static_cast<std::ptrdiff_t>(top));
        const Distances& d = found[top - 1];
        const double scale = plain_sum_distance(row, chosen) + plain_norm_distance(row, {});
        EXPECT_NEAR(d.sum.chosen, plain_sum_distance(row, chosen), kRelative * scale);
        EXPECT_NEAR(d.norm.chosen, plain_norm_distance(row, chosen), kRoot * scale);
        EXPECT_NEAR(d.sum.drawn, plain_sum_distance(row, random_ones), kRoot * scale);
        EXPECT_NEAR(d.norm.drawn, plain_norm_distance(row, random_ones), kRoot * scale);
      }
      for (std::size_t top = keys; top < keys + 3; ++top)
        EXPECT_EQ(found[top - 1].sum.chosen, 0.0) << "nothing is left";
    });
  });
}

// A twin of the key with most weight: |s - y_i| vanishes at N = 1, and the square may round to below 0.
TEST(AnalysisRows, EqualVectorsAndWeightsGiveDistanceZeroAndNoNaN) {
  for_each_seed(50, [](Random& random) {
    PlainRow row = random_plain_row(random, 9, 5, 2.0);
    row.weights[4] = row.weights[0] =
        random.uniform(1.0, 2.0);  // more than any other, and not a round number
    row.vectors[4] = row.vectors[0];
    const double scale = plain_sum_distance(row, {0});
    // The other seven, and one distance that is 0 up to the root of the rounding of its square.
    EXPECT_NEAR(distances_of(row, every_top(9), 1)[0].sum.chosen, scale, kRoot * scale);
  });
}

TEST(AnalysisRows, TheClosedFormOfARandomSelectionIsExactUnderTheRootAndAboveTheMean) {
  for_each_seed(12, [](Random& random) {
    const std::size_t keys = random.size(2, 7);
    const PlainRow row = random_plain_row(random, keys, random.size(1, 4), 2.0);
    const auto found = distances_of(row, every_top(keys), 1);
    for (std::size_t top = 1; top < keys; ++top) {
      std::vector<double> squares(keys), times(keys);  // E|s - y_i|^2 where i is left out
      double mean = 0, norm = 0, norm_square = 0, selections = 0;
      for_each_selection(keys, top, [&](const std::vector<std::size_t>& selected) {
        ++selections;
        mean += plain_sum_distance(row, selected);
        norm += plain_norm_distance(row, selected);
        norm_square += std::pow(plain_norm_distance(row, selected), 2);
        const PlainVector s = plain_selected(row, selected);
        for (std::size_t i = 0; i < keys; ++i) {
          if (taken_in(selected, i)) continue;
          squares[i] += std::pow(plain_distance(s, row.y(i)), 2);
          ++times[i];
        }
      });
      double wanted = 0;
      for (std::size_t i = 0; i < keys; ++i) wanted += std::sqrt(squares[i] / times[i]);
      wanted *= static_cast<double>(keys - top) / static_cast<double>(keys);
      EXPECT_NEAR(found[top - 1].sum.drawn_bound, wanted, 1e-10 * wanted);
      EXPECT_GE(found[top - 1].sum.drawn_bound, mean / selections * (1 - 1e-12));
      EXPECT_NEAR(found[top - 1].norm.drawn_bound, std::sqrt(norm_square / selections), kRoot * wanted);
      EXPECT_GE(found[top - 1].norm.drawn_bound, norm / selections * (1 - 1e-9));
    }
  });
}

TEST(AnalysisRows, DrawsEstimateTheExpectation) {
  Random random(3);
  const PlainRow row = random_plain_row(random, 7, 3, 1.0);
  const auto found = distances_of(row, every_top(7, /*draws=*/4000), 11);
  for (std::size_t top = 1; top < 7; ++top) {
    double mean = 0, square = 0, selections = 0;
    for_each_selection(7, top, [&](const auto& selected) {
      const double d = plain_sum_distance(row, selected);
      mean += d;
      square += d * d;
      ++selections;
    });
    mean /= selections;
    const double deviation = std::sqrt(std::max(0.0, square / selections - mean * mean));
    EXPECT_NEAR(found[top - 1].sum.drawn, mean, 5 * deviation / std::sqrt(4000.0)) << "seed 3, N = " << top;
  }
}

TEST(AnalysisRows, BoundsAreTheTheorysAndHold) {
  for_each_seed(30, [](Random& random) {
    const std::size_t keys = random.size(3, 40), features = random.size(1, 6);
    const PlainRow row = random_plain_row(random, keys, features, random.uniform(0, 5));
    const auto found = distances_of(row, every_top(keys), 1);
    std::vector<double> flat;
    for (const auto& x : row.vectors) flat.insert(flat.end(), x.begin(), x.end());
    const theory::WeightedRow weighted{row.weights, flat, features};
    for (std::size_t top = 1; top < keys; ++top) {
      const auto facts = theory::selection_facts(weighted, plain_top(row.weights, top));
      const Distances& d = found[top - 1];
      EXPECT_NEAR(d.sum.chosen_bound, theory::fixed_selection_bound(facts), kRoot * d.sum.chosen_bound);
      EXPECT_NEAR(d.norm.chosen_bound, theory::fixed_selection_bound(facts, theory::DistanceReading::joint),
                  kRoot * d.sum.chosen_bound);
      EXPECT_NEAR(d.sum.drawn_bound, theory::random_selection_bound(weighted, top), 1e-8 * d.sum.drawn_bound);
      EXPECT_LE(d.sum.chosen, d.sum.chosen_bound * (1 + 1e-9));
      EXPECT_LE(d.norm.chosen, d.norm.chosen_bound + kRoot * d.sum.chosen_bound);
    }
  });
}

TEST(AnalysisRows, SeparabilityIsThatOfTheDefinitionAndAboveItsBounds) {
  for_each_target([](const std::string& target) {
    SCOPED_TRACE(target);
    for_each_seed(40, [](Random& random) {
      const std::size_t keys = random.size(2, 50);
      PlainRow row = random_plain_row(random, keys, random.size(2, 9), random.uniform(0, 5));
      if (random.uniform() < 0.3) row.vectors[random.size(0, keys - 1)].assign(row.vectors[0].size(), 0.0);
      const Products products(row);
      std::vector<std::int64_t> tops(keys + 1);
      std::iota(tops.begin(), tops.end(), 1);
      std::vector<Separability> found(tops.size());
      RowSeparability().add(products.view, tops, found);
      for (std::size_t top = 1; top < keys; ++top) {
        EXPECT_DOUBLE_EQ(found[top - 1].share, plain_separability(row, top)) << keys << " keys, N = " << top;
        EXPECT_LE(found[top - 1].counted, found[top - 1].share);
        EXPECT_LE(found[top - 1].bound, found[top - 1].counted + 1e-12);
      }
      EXPECT_EQ(found[keys - 1].share, 0.0) << "no key is left out";
    });
  });
}

TEST(AnalysisRows, SeparabilityBoundsAreTheTheorys) {
  for_each_seed(30, [](Random& random) {
    PlainRow row = random_plain_row(random, 12, 6, 2.0);
    for (auto& x : row.vectors) {
      const double length = plain_length(x);
      for (double& v : x) v /= length;
    }
    const Products products(row);
    const std::int64_t tops[] = {1, 4, 9};
    std::vector<Separability> found(3);
    RowSeparability().add(products.view, tops, found);
    for (std::size_t k = 0; k < 3; ++k) {
      const auto selected = plain_top(row.weights, static_cast<std::size_t>(tops[k]));
      double least = 2, r = std::numeric_limits<double>::infinity();
      std::vector<double> weights;
      const PlainVector s = plain_selected(row, selected);
      for (std::size_t i = 0; i < row.keys(); ++i)
        if (!taken_in(selected, i)) r = std::min(r, plain_distance(s, row.y(i)));
      for (const std::size_t i : selected) {
        weights.push_back(row.weights[i]);
        for (const std::size_t j : selected)
          if (i != j) least = std::min(least, plain_distance(row.vectors[i], row.vectors[j]));
      }
      const theory::SeparabilityFacts facts{weights, 1.0, least};
      EXPECT_NEAR(found[k].bound, theory::separability_lower_bound(facts, r), 1e-6);
      EXPECT_NEAR(found[k].counted, theory::counted_separability_lower_bound(facts, r), 1e-12);
    }
  });
}

TEST(AnalysisRows, TheGradientIsADifferenceOfSoftmaxesAndOtherNormalizersHaveTheirOwn) {
  const GradientPlan plan{{0.01, 0.3, 1, 10}, {1e-3, 0.1, 10}};
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    for_each_seed(20, [&](Random& random) {
      const std::size_t keys = random.size(2, 40);
      const auto scores = random.row(keys, 3.0);
      std::vector<double> v;
      random_direction(CounterRandom(9, 1), 4, static_cast<std::int64_t>(keys), v);
      EXPECT_NEAR(plain_length(v), 1.0, 1e-12);
      std::vector<double> fast(12), by_rule(12), doubled(12);
      RowGradient(plan, Softmax{}).add(scores, v, fast);
      // ssmax with s = 0, b = 1 is softmax by another road: one call of normalize().
      RowGradient(plan, AnyNormalizer::parse("ssmax:s=0,b=1")).add(scores, v, by_rule);
      const GradientPlan colder{{0.02, 0.6, 2, 20}, plan.steps};
      RowGradient(colder, Softmax{.beta = 2}).add(scores, v, doubled);
      for (std::size_t i = 0; i < 12; ++i) {
        const double wanted = plain_gradient(scores, v, plan.temperatures[i / 3], plan.steps[i % 3]);
        const double rounding = 1e-13 / plan.steps[i % 3];
        EXPECT_NEAR(fast[i], wanted, 1e-9 * wanted + rounding);
        EXPECT_NEAR(by_rule[i], wanted, 1e-9 * wanted + rounding);
        EXPECT_NEAR(doubled[i], wanted, 1e-9 * wanted + rounding);
      }
    });
  });
}

TEST(AnalysisRows, SelectionsTakeEveryKeyOnceAndPrefixesAgree) {
  for_each_seed(50, [](Random& random) {
    const auto all = static_cast<std::int64_t>(random.size(1, 200));
    std::vector<std::int32_t> whole, part;
    random_keys(CounterRandom(2, 3), 8, all, all, whole);
    random_keys(CounterRandom(2, 3), 8, all, all / 2, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
    EXPECT_EQ(std::set<std::int32_t>(whole.begin(), whole.end()).size(), static_cast<std::size_t>(all));
    std::vector<double> weights(static_cast<std::size_t>(all));
    for (double& w : weights) w = std::round(4 * random.uniform());  // many ties
    top_keys(weights, all / 2, part);
    const auto wanted = plain_top(weights, static_cast<std::size_t>(all / 2));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), wanted.begin(), wanted.end()));
  });
}

TEST(AnalysisRows, EveryKeyIsDrawnAboutAsOften) {
  std::vector<int> times(10);
  std::vector<std::int32_t> keys;
  for (std::uint64_t row = 0; row < 10000; ++row) {
    random_keys(CounterRandom(1, 1), row, 10, 3, keys);
    for (const std::int32_t key : keys) ++times[static_cast<std::size_t>(key)];
  }
  for (const int count : times) EXPECT_NEAR(count, 3000, 5 * std::sqrt(10000 * 0.3 * 0.7));
}

TEST(AnalysisRows, OneBadWeightPoisonsItsRow) {
  Random random(1);
  PlainRow row = random_plain_row(random, 20, 4, 1.0);
  row.weights[13] = kNaN;
  const auto found = distances_of(row, every_top(20), 1);
  const Products products(row);
  std::vector<Separability> separability(2);
  const std::int64_t tops[] = {1, 5};
  RowSeparability().add(products.view, tops, separability);
  for (std::size_t top = 1; top < 20; ++top)
    EXPECT_TRUE(std::isnan(found[top - 1].sum.chosen) && std::isnan(found[top - 1].norm.drawn_bound));
  EXPECT_TRUE(std::isnan(separability[1].share));
}

}  // namespace
}  // namespace sharpmax::test
