// Laws of trying rules: paired differences, the sign test, the choice that is honest about many tries, the
// search.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "audit/fix/fix_run.h"
#include "audit/fix/rule.h"
#include "model/generation/generate.h"
#include "statistics/significance.h"
#include "model/transformer/normalizer_table.h"
#include "sharpmax/error.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using audit::Comparison;
using audit::Goal;
using audit::Outcome;

TEST(FixLaws, TheSignTestCountsAllWaysThatCoinsCanFall) {
  for (int up = 0; up <= 7; ++up) {
    for (int down = 0; down <= 7; ++down) {
      const int coins = up + down;
      int as_far = 0;
      for (int way = 0; way < 1 << coins; ++way)
        as_far += std::abs(2 * __builtin_popcount(static_cast<unsigned>(way)) - coins) >= std::abs(up - down);
      EXPECT_NEAR(sign_test(up, down), as_far / std::pow(2.0, coins), 1e-12) << up << " " << down;
    }
  }
}

Outcome outcome_of(Random& random, std::span<const std::size_t> chunks, std::size_t questions, double mean,
                   double right) {
  Outcome outcome;
  for (const std::size_t tokens : chunks) {
    std::vector<float> losses;
    for (std::size_t i = 0; i < tokens; ++i) losses.push_back(static_cast<float>(mean + random.normal()));
    const auto runs = audit::runs_of(losses);
    outcome.runs.insert(outcome.runs.end(), runs.begin(), runs.end());
  }
  outcome.right.emplace_back();
  for (std::size_t i = 0; i < questions; ++i) outcome.right[0].push_back(random.uniform() < right);
  return outcome;
}

TEST(FixLaws, RunsPartTheTokensByHowManyStandBefore) {
  for_each_seed(30, [](Random& random) {
    std::vector<float> losses;
    double sum = 0;
    for (std::size_t n = random.size(1, 700); losses.size() < n;) {
      losses.push_back(static_cast<float>(random.uniform(0, 8)));
      sum += losses.back();
    }
    std::int64_t before = 1;
    double in_runs = 0;
    for (const audit::TextRun& run : audit::runs_of(losses)) {
      EXPECT_EQ(run.from % kRunLength, 0);
      EXPECT_GE(before, run.from);
      EXPECT_LE(before + run.tokens, run.from + kRunLength);
      before += run.tokens;
      in_runs += run.loss;
    }
    EXPECT_EQ(before, static_cast<std::int64_t>(losses.size()) + 1);
    EXPECT_NEAR(in_runs, sum, 1e-9 * sum);
  });
}

TEST(FixLaws, ChangesAreThoseOfAllTokensAndFlipsThoseOfAllQuestions) {
  for_each_seed(30, [](Random& random) {
    const std::size_t chunks[] = {random.size(1, 600), random.size(1, 600)};
    const Outcome plain = outcome_of(random, chunks, 30, 3, 0.4),
                  rule = outcome_of(random, chunks, 30, 2.5, 0.6);
    const Comparison c = audit::compare(plain, rule);
    double a = 0, b = 0;
    for (const auto& run : plain.runs) a += run.loss;
    for (const auto& run : rule.runs) b += run.loss;
    const auto tokens = static_cast<double>(chunks[0] + chunks[1]);
    EXPECT_EQ(c.text.tokens, static_cast<std::int64_t>(chunks[0] + chunks[1]));
    EXPECT_NEAR(c.text.change, (b - a) / tokens, 1e-9);
    EXPECT_NEAR(c.text.plain, a / tokens, 1e-9);
    double in_buckets = 0;
    for (const auto& bucket : c.buckets) in_buckets += bucket.change * static_cast<double>(bucket.tokens);
    EXPECT_NEAR(in_buckets, b - a, 1e-9 * tokens);
    EXPECT_EQ(c.task.rule - c.task.plain, c.task.up - c.task.down);
    EXPECT_EQ(c.tasks[0].up, c.task.up);
  });
}

TEST(FixLaws, NineteenOfTwentyIntervalsCoverTheChange) {
  int covered = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial));
    const std::size_t chunks[] = {500, 500};
    const Outcome plain = outcome_of(random, chunks, 1, 3, 0.5),
                  rule = outcome_of(random, chunks, 1, 3.1, 0.5);
    const Comparison c = audit::compare(plain, rule);
    covered += c.text.low <= 0.1 && 0.1 <= c.text.high;
  }
  EXPECT_GE(covered, 358);  // 95 % less five standard deviations
  EXPECT_LT(covered, kTrials);
}

TEST(FixLaws, OfManyRulesThatDoNothingOneIsRarelyCalledBetter) {
  // 15 rules whose answers differ from plain by chance alone: the best of them on the tuning part gains a lot
  // there.
  constexpr int kTrials = 300, kRules = 15;
  int called = 0, gained_on_tuning = 0;
  const std::size_t chunks[] = {200};
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial));
    const audit::Criterion criterion{Goal::task};
    const Outcome tuning = outcome_of(random, chunks, 60, 3, 0.3),
                  held_out = outcome_of(random, chunks, 60, 3, 0.3);
    std::vector<double> scores;
    std::vector<Outcome> others;
    for (int rule = 0; rule < kRules; ++rule) {
      scores.push_back(
          audit::score(audit::compare(tuning, outcome_of(random, chunks, 60, 3, 0.3)), criterion));
      others.push_back(outcome_of(random, chunks, 60, 3, 0.3));
    }
    const auto best = audit::best_of(scores);
    if (!best) continue;
    gained_on_tuning += scores[*best] > 0.1;
    called += audit::judge_held_out(audit::compare(held_out, others[*best]), criterion).better;
  }
  EXPECT_GT(gained_on_tuning, kTrials / 2) << "the test has no teeth";
  // Two-sided 0.05, one side of it: 2.5 %, and four standard deviations.
  EXPECT_LE(called, kTrials * 0.025 + 4 * std::sqrt(kTrials * 0.025));
}

Comparison comparison_of(double change, std::int64_t up, std::int64_t down) {
  Comparison c;
  c.text = {.tokens = 100, .change = change, .low = change - 0.01, .high = change + 0.01};
  c.task = {.questions = 100, .up = up, .down = down, .p = sign_test(up, down)};
  return c;
}

TEST(FixLaws, TheGoalDecidesWhatCounts) {
  const audit::Criterion both{Goal::both, 0.02}, text{Goal::text}, task{Goal::task};
  const double out = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(audit::score(comparison_of(0, 0, 0), both), 0);
  EXPECT_EQ(audit::score(comparison_of(0.15, 20, 0), both), out);
  EXPECT_NEAR(audit::score(comparison_of(0.15, 20, 0), task), 0.2, 1e-12);
  EXPECT_NEAR(audit::score(comparison_of(0.01, 20, 5), both), 0.14, 1e-12);
  EXPECT_NEAR(audit::score(comparison_of(-0.05, 0, 9), text), 0.05, 1e-12);
  EXPECT_EQ(audit::score(comparison_of(std::nan(""), 20, 0), task), out);
  EXPECT_EQ(audit::best_of(std::vector{0.0, -1.0, out}), std::nullopt);
  EXPECT_EQ(audit::best_of(std::vector{0.0, 0.3, 0.3}), std::optional<std::size_t>(1));

  EXPECT_TRUE(audit::judge_held_out(comparison_of(0.01, 20, 0), both).better);
  EXPECT_FALSE(audit::judge_held_out(comparison_of(0.03, 20, 0), both).better);
  EXPECT_TRUE(audit::judge_held_out(comparison_of(0.03, 20, 0), task).better);
  EXPECT_FALSE(audit::judge_held_out(comparison_of(-0.005, 3, 1), both).better);
  EXPECT_TRUE(audit::judge_held_out(comparison_of(-0.05, 3, 1), both).better);
  EXPECT_FALSE(audit::judge_held_out(comparison_of(-0.05, 0, 20), both).better) << "the task lost";
  EXPECT_FALSE(audit::judge_held_out(comparison_of(-0.05, 20, 0), {Goal::task}).task_loses);
}

TEST(FixLaws, WorseIsNotCalledNotShownToBeBetter) {
  const auto says = [](double change, std::int64_t up, std::int64_t down, Goal goal) {
    return audit::shortfall(audit::judge_held_out(comparison_of(change, up, down), {goal, 0.02}), goal);
  };
  EXPECT_EQ(says(0.03, 3, 1, Goal::text), "which is worse");
  EXPECT_EQ(says(0.005, 3, 1, Goal::text), "which is not shown to be better");
  EXPECT_EQ(says(0.03, 3, 1, Goal::task), "which is not shown to be better") << "the loss does not count";
  EXPECT_EQ(says(-0.05, 0, 20, Goal::task), "which is worse");
  EXPECT_EQ(says(0.015, 3, 1, Goal::both), "which is worse");
  EXPECT_EQ(says(-0.05, 0, 20, Goal::both), "which is worse");
  EXPECT_EQ(says(0.05, 20, 0, Goal::both), "which gains answers but adds more loss than allowed");
  EXPECT_EQ(says(0.0, 2, 1, Goal::both), "which is not shown to be better");
}

TEST(FixLaws, TheSearchFindsTheHeadsThatHelpAndKeepsToItsBudget) {
  for_each_seed(10, [](Random& random) {
    constexpr std::int64_t kLayers = 7, kHeads = 3, kAll = kLayers * kHeads;
    std::vector<double> worth;
    double best = 0;
    for (std::int64_t i = 0; i < kAll; ++i) worth.push_back(random.normal());
    for (const double w : worth) best += std::max(w, 0.0);
    const auto value = [&](const model::NormalizerTable& table) {
      double sum = 0;
      for (std::int64_t i = 0; i < kAll; ++i)
        if (table.at(i / kHeads, i % kHeads) == AnyNormalizer(Hard{}))
          sum += worth[static_cast<std::size_t>(i)];
      return sum;
    };
    for (const std::int64_t budget : {3, 1000}) {
      audit::HeadSearch search({kLayers, kHeads, Hard{}}, {kLayers, kHeads, Softmax{}}, std::vector<bool>(kAll), 0.0, budget);
      std::vector<model::NormalizerTable> tried;
      double last = 0;
      while (const auto table = search.next()) {
        for (const auto& earlier : tried) EXPECT_FALSE(earlier == *table) << "tried twice";
        tried.push_back(*table);
        search.report(value(*table));
        EXPECT_GE(search.best(), last);
        last = search.best();
      }
      EXPECT_LE(static_cast<std::int64_t>(tried.size()), budget);
      if (budget > kAll) {
        EXPECT_NEAR(search.best(), best, 1e-9);
      }
    }
  });
}

model::Configuration configuration() {
  model::Configuration c;
  c.layers = 4;
  c.heads = 2;
  c.head_width = 64;
  c.context = 8192;
  c.rope = {.features = 64, .base = 1e5};
  return c;
}

model::NormalizerTable softmax_everywhere() { return {4, 2, Softmax{}}; }

audit::HeadSurvey survey() {
  audit::HeadSurvey s{.layers = 4, .heads = 2};
  for (int i = 0; i < 8; ++i)
    s.all.push_back({0.1 * i, 0.5 + i, i % 2 == 0 ? HeadKind::sharp : HeadKind::sink});
  return s;
}

TEST(FixLaws, RulesAreForTheHeadsThatTheyName) {
  const auto changed = [](const char* text) {
    return audit::make_out(audit::parse_rule(text, configuration()), survey(), softmax_everywhere());
  };
  EXPECT_EQ(changed("softmax:beta=1.35").changed, 8);
  EXPECT_EQ(changed("softmax:beta=1.35@sharp").changed, 4);
  EXPECT_EQ(changed("softmax:beta=1.35@but-sink").changed, 4);
  EXPECT_EQ(changed("softmax:beta=1.35@layers=1-2").changed, 4);
  EXPECT_EQ(changed("softmax:beta=1.35@layers=3").changed, 2);
  EXPECT_EQ(changed("adaptive@dispersing").changed, 0);
  const audit::RuleTable steepest = changed("hard@steepest");
  EXPECT_EQ(steepest.changed, 1);
  EXPECT_EQ(steepest.normalizers.at(3, 1), AnyNormalizer(Hard{}));
  EXPECT_EQ(changed("hard@but-steepest").changed, 7);
  EXPECT_EQ(changed("entropy_target:nats=own").normalizers.at(2, 1),
            AnyNormalizer(EntropyTarget{.nats = 5.5}));
  EXPECT_EQ(changed("rope=ntk:1.5").rope, "ntk:1.5");
  EXPECT_EQ(changed("softmax:beta=1.1@sharp;rope=yarn:2").changed, 4);
  EXPECT_EQ(changed("softmax:beta=1.1@sharp;rope=yarn:2").rope, "yarn:2");
}

TEST(FixLaws, ATableComesBackFromItsFile) {
  for (const std::string& text : audit::default_rules(configuration(), 16384)) {
    const audit::RuleTable made = audit::make_out(audit::parse_rule(text, configuration()), survey(), softmax_everywhere());
    const std::string file = model::to_json(made.normalizers).dump();
    EXPECT_EQ(model::parse_normalizer_table(file, "t", 4, 2), made.normalizers) << text;
  }
}

TEST(FixLaws, WhatMakesNoSenseIsRefused) {
  for (const char* text :
       {"", "@sharp", "softmax@", "softmax@blunt", "softmax@layers=2-9", "softmax@layers=3-1",
        "softmax@layers=x", "nonsense", "softmax:beta=0/1", "rope=", "rope=ntk", "rope=ntk:x",
        "@sharp;rope=ntk:2", "linear", "softmax;rope=ntk:2;rope=ntk:3"})
    EXPECT_THROW(audit::parse_rule(text, configuration()), Error) << text;
  model::Configuration learned = configuration();
  learned.rope.features = 0;
  EXPECT_THROW(audit::parse_rule("rope=ntk:2", learned), Error);
}

TEST(FixLaws, PositionsAreStretchedOnlyPastTheTrainedLength) {
  const auto has_rope = [](std::int64_t longest) {
    for (const std::string& rule : audit::default_rules(configuration(), longest))
      if (rule.find("rope=") != std::string::npos) return true;
    return false;
  };
  EXPECT_FALSE(has_rope(8192));
  EXPECT_TRUE(has_rope(12288));
}

TEST(FixLaws, LlamaCppIsAskedOnlyForWhatItCanDo) {
  const auto setting = [](const char* text, const model::Configuration& c = configuration()) {
    return audit::llama_cpp_setting(audit::make_out(audit::parse_rule(text, c), survey(), softmax_everywhere()), c)
        .value_or("none");
  };
  EXPECT_EQ(setting("softmax:beta=1.44"), "--yarn-attn-factor 1.2");
  EXPECT_EQ(setting("softmax:beta=1.44@sharp"), "none");
  EXPECT_EQ(setting("adaptive"), "none");
  EXPECT_EQ(setting("softmax:beta=1.44;rope=yarn:2"), "none") << "YaRN computes the factor itself";
  EXPECT_EQ(setting("rope=linear:2"), "--rope-scaling linear --rope-scale 2");
  EXPECT_EQ(setting("softmax:beta=1.44;rope=linear:2"),
            "--rope-scaling linear --rope-scale 2 --yarn-attn-factor 1.2");
  EXPECT_EQ(setting("rope=ntk:1.5"),
            "--rope-freq-base " + fmt::format("{:.9g}", 1e5 * std::pow(1.5, 64.0 / 62.0)));
  EXPECT_NE(setting("rope=yarn:2").find("--rope-scaling yarn --rope-scale 2 --yarn-orig-ctx 8192"),
            std::string::npos);
  model::Configuration partial = configuration();
  partial.rope.features = 32;
  EXPECT_EQ(setting("softmax:beta=1.44", partial), "none")
      << "features that are not turned would not be scaled";
}

}  // namespace
}  // namespace sharpmax::test
