// The Kolmogorov-Smirnov test by counting, and the rules by which paper B's findings are judged.
#include <gtest/gtest.h>

#include "audit/analysis/measure_model.h"
#include "nlohmann/json.hpp"
#include "sharpmax/error.h"
#include "support/paper_b_plain.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::audit;

TEST(AnalysisLaws, PIsTheShareOfSplitsWithAtLeastThisStatistic) {
  for (std::size_t n = 1; n <= 6; ++n) {
    std::vector<double> statistics;  // of every way to deal 2n different values to two samples
    for_each_selection(2 * n, n, [&](const std::vector<std::size_t>& selected) {
      std::vector<double> first, second;
      for (std::size_t i = 0; i < 2 * n; ++i)
        (taken_in(selected, i) ? first : second).push_back(static_cast<double>(i));
      statistics.push_back(kolmogorov_smirnov(first, second).statistic);
    });
    for (std::int64_t steps = 0; steps <= static_cast<std::int64_t>(n); ++steps) {
      const double statistic = static_cast<double>(steps) / static_cast<double>(n);
      const auto as_large = std::count_if(statistics.begin(), statistics.end(),
                                          [&](double d) { return d > statistic - 1e-12; });
      EXPECT_NEAR(kolmogorov_smirnov_p(steps, static_cast<std::int64_t>(n)),
                  static_cast<double>(as_large) / static_cast<double>(statistics.size()), 1e-12)
          << "n " << n << ", steps " << steps;
    }
  }
}

TEST(AnalysisLaws, EqualSamplesAreOneDistributionAndSidesDoNotMatter) {
  for_each_seed(50, [](Random& random) {
    std::vector<double> a, b;
    for (int i = 0; i < 40; ++i) {
      a.push_back(std::round(8 * random.uniform()));
      b.push_back(std::round(8 * random.uniform() + random.uniform()));
    }
    EXPECT_EQ(kolmogorov_smirnov(a, a).statistic, 0.0);
    EXPECT_EQ(kolmogorov_smirnov(a, a).p, 1.0);
    EXPECT_EQ(kolmogorov_smirnov(a, b).statistic, kolmogorov_smirnov(b, a).statistic);
    double wanted = 0;  // by the definition, at every value
    for (const double at : a) {
      const auto share = [&](const std::vector<double>& of) {
        return static_cast<double>(std::count_if(of.begin(), of.end(), [&](double x) { return x <= at; })) /
               40.0;
      };
      wanted = std::max(wanted, std::abs(share(a) - share(b)));
    }
    for (const double at : b) {
      const auto share = [&](const std::vector<double>& of) {
        return static_cast<double>(std::count_if(of.begin(), of.end(), [&](double x) { return x <= at; })) /
               40.0;
      };
      wanted = std::max(wanted, std::abs(share(a) - share(b)));
    }
    EXPECT_NEAR(kolmogorov_smirnov(a, b).statistic, wanted, 1e-12);
  });
}

TEST(AnalysisLaws, WhatCannotBeTestedIsRefusedAndNaNIsNotSwallowed) {
  const std::vector<double> two{1, 2}, three{1, 2, 3}, bad{1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(kolmogorov_smirnov(two, three), Error);
  EXPECT_THROW(kolmogorov_smirnov({}, {}), Error);
  EXPECT_TRUE(std::isnan(kolmogorov_smirnov(two, bad).p));
}

TEST(AnalysisLaws, MedianTopsCountWhatWasNotFoundAsLarge) {
  EXPECT_EQ(median_top({3, {}, 5}), 5);
  EXPECT_EQ(median_top({{}, 3, {}}), std::nullopt);
  EXPECT_EQ(median_top({7, 1, 9}), 7);
}

// Heads whose distances are made up: factor * L^exponent at every length, level + tilt * log2(N) at every N,
// and drawn keys that are as far from the chosen as `apart` says up to N = merge.
struct MadeUp {
  double exponent = 1, tilt = 0, apart = 10, separability = 0.75;
  std::int64_t merge = 60;
  double inverse = 1;  // gradient T^-inverse

  HeadMeasurements measurements() const {
    HeadMeasurements found;
    found.settings.critical_lengths = {1024};
    found.plan = plan_of(found.settings);
    for (std::int64_t head = 0; head < 150; ++head) {
      HeadSums sums(HeadPlace{head / 10, head % 10}, found.plan);
      const double factor = 1.0 + 0.001 * static_cast<double>(head);
      for (std::size_t l = 0; l < found.plan.lengths.size(); ++l)
        fill(found.plan, factor * std::pow(static_cast<double>(found.plan.lengths[l]), exponent),
             sums.by_length[l]);
      fill(found.plan, factor, sums.common);
      found.heads.push_back(std::move(sums));
    }
    return found;
  }

  void fill(const RowPlan& plan, double level, RowSums& sums) const {
    for (std::size_t k = 0; k < plan.distances.tops.size(); ++k) {
      const auto top = static_cast<double>(plan.distances.tops[k]);
      const double chosen = level * std::exp(tilt * std::log2(top));
      sums.distances[k].sum = {chosen, plan.distances.tops[k] < merge ? chosen / apart : chosen, 0, 0};
      sums.distance_rows[k] = 1;
    }
    for (std::size_t k = 0; k < plan.separability_tops.size(); ++k) {
      const double excess = std::max(0.0, 16.0 - static_cast<double>(plan.separability_tops[k])) / 100.0;
      sums.separability[k].share = separability + excess;
      sums.separability_rows[k] = 1;
    }
    const std::size_t steps = plan.gradient.steps.size();
    for (std::size_t i = 0; i < sums.gradient.size(); ++i)
      sums.gradient[i] = 0.1 * std::pow(plan.gradient.temperatures[i / steps], -inverse);
    sums.gradient_rows = 1;
  }

  std::map<std::string, std::optional<bool>> verdicts() const {
    const HeadMeasurements found = measurements();
    std::map<std::string, std::optional<bool>> out;
    for (const PaperFinding& f : paper_findings(found, critical_tops(found, Reading::sum, Against::drawn)))
      out[f.name] = f.holds;
    return out;
  }
};

TEST(AnalysisLaws, FindingsHoldWhereTheyWerePutIn) {
  const auto verdicts = MadeUp{}.verdicts();
  ASSERT_EQ(verdicts.size(), 6u);
  for (const auto& [name, holds] : verdicts) EXPECT_EQ(holds, true) << name;
}

TEST(AnalysisLaws, AndDoNotWhereTheyWereNot) {
  const auto verdict = [](const MadeUp& made, const char* name) { return made.verdicts().at(name); };
  EXPECT_EQ(verdict({.exponent = 0.5}, "linear-growth"), false);
  EXPECT_EQ(verdict({.tilt = 0.1}, "plateau"), false);
  EXPECT_EQ(verdict({.merge = 5}, "critical-top"), false);
  EXPECT_EQ(verdict({.merge = 1000}, "critical-top"), false) << "100 of 1024 is above the range";
  EXPECT_EQ(verdict({.separability = 0.5}, "separability"), false);
  EXPECT_EQ(verdict({.inverse = 0.5}, "gradient-inverse-t"), false);
  EXPECT_EQ(verdict({.inverse = 0.2}, "gradient-collapse"), false);
}

TEST(AnalysisLaws, TheCriticalTopIsTheFirstThatTheTestLetsPass) {
  const HeadMeasurements found = MadeUp{}.measurements();
  const auto critical = critical_tops(found, Reading::sum, Against::drawn);
  ASSERT_EQ(critical.size(), 1u);
  EXPECT_EQ(critical[0].all.top, 60);
  EXPECT_LT(critical[0].all.tests[58].p, 0.01);
  EXPECT_EQ(critical[0].subsets.heads, 144);
  for (const auto& top : critical[0].subsets.tops) EXPECT_EQ(top, 60);
}

TEST(AnalysisLaws, NamesAreParsedAndUnknownOnesRefused) {
  EXPECT_EQ(parse_analyses("all").size(), 5u);
  EXPECT_EQ(parse_analyses("gradient,distance-top,gradient"),
            (std::vector<Analysis>{Analysis::distance_top, Analysis::gradient}));
  for (const char* text : {"", "distance", "all,", "gradient,,all"})
    EXPECT_THROW(parse_analyses(text), Error) << text;
  AnalysisSettings s;
  s.level = 0;
  EXPECT_THROW(check(s), Error);
  s = {};
  s.gradient.temperatures = {1, -1};
  EXPECT_THROW(check(s), Error);
}

TEST(AnalysisLaws, TopsBeyondAHundredGoInStepsOfTwoPercent) {
  const auto tops = tried_tops(1000);
  EXPECT_EQ(tops[99], 100);
  for (std::size_t i = 1; i < tops.size(); ++i) {
    EXPECT_GT(tops[i], tops[i - 1]);
    EXPECT_LE(static_cast<double>(tops[i]),
              std::max(1.02 * static_cast<double>(tops[i - 1]), static_cast<double>(tops[i - 1]) + 1));
  }
}

TEST(AnalysisLaws, JsonHasEverySectionAskedFor) {
  const auto json = to_json(findings_of(MadeUp{}.measurements()));
  for (const char* section : {"distance_length", "distance_top", "critical_top", "separability", "gradient"})
    EXPECT_TRUE(json.contains(section)) << section;
  EXPECT_EQ(json["findings"].size(), 6u);
}

}  // namespace
}  // namespace sharpmax::test
