// evaluate() against the head's formulas item by item in double, with each normalizer's specification.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "normalizer/definition.h"
#include "retrieval/run/run.h"
#include "retrieval/testing/evaluation.h"
#include "retrieval/testing/evaluation_block.h"
#include "sharpmax/error.h"
#include "support/attention_normalizers.h"
#include "support/retrieval_head.h"
#include "support/settings.h"
#include "support/thread_group.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::retrieval;

struct Case {
  Encoder encoder;
  std::int64_t width, classes, n, sets;
};

std::vector<AnyNormalizer> normalizers(std::initializer_list<std::string_view> texts) {
  std::vector<AnyNormalizer> all;
  for (const std::string_view text : texts) all.push_back(AnyNormalizer::parse(text));
  return all;
}
const std::vector<AnyNormalizer> kSeveral =
    normalizers({"softmax", "adaptive", "entropy_target:nats=0.1", "sink", "sigmoid", "relu", "softpick",
                 "self_adjust", "stick_breaking", "entmax15", "top_k:k=3", "hard", "softmax:beta=-1"});

// What one normalizer makes of one set, all in double.
struct PlainOutcome {
  bool right = false;
  bool unsure = false;  // two logits so close that float weights may decide
  double entropy = 0.0, peak = 0.0, right_weight = 0.0, temperature = 0.0;
};

PlainOutcome plain_outcome(const PlainHead& head, const Set& set, const AnyNormalizer& normalizer,
                           const std::vector<double>& scores) {
  std::vector<double> weights(scores.size());
  PlainOutcome out;
  out.temperature = weigh_row(normalizer, 0, scores, weights).temperature;
  const double mass = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const double w : weights) {
    if (w == 0.0) continue;
    out.entropy -= w / mass * std::log(w / mass);
    out.peak = std::max(out.peak, w / mass);
  }
  const auto right = static_cast<std::size_t>(set.right);
  out.right_weight = mass == 0.0 ? 0.0 : weights[right] / mass;
  const std::vector<double> logits = head.logits(set, weights);
  const auto best = std::max_element(logits.begin(), logits.end());
  out.right = best - logits.begin() == set.classes[right];
  double largest = 0.0;
  for (const double logit : logits) largest = std::max(largest, std::abs(logit));
  for (auto other = logits.begin(); other != logits.end(); ++other)
    out.unsure |= other != best && *best - *other < 1e-4 * (1.0 + largest);
  return out;
}

struct PlainMeasurement {
  Measurement sums;
  std::int64_t unsure = 0;
};

std::vector<PlainMeasurement> plain_evaluation(const Head& trained, const Case& c) {
  const PlainHead head(trained);
  std::vector<PlainMeasurement> all(kSeveral.size());
  Set set;
  for (std::int64_t s = 0; s < c.sets; ++s) {
    draw_test_set(trained.seed, c.classes, c.n, s, set);
    const std::vector<double> scores = head.scores(set);
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
    const auto hard = plain_outcome(head, set, AnyNormalizer::parse("hard"), scores);
    for (std::size_t k = 0; k < kSeveral.size(); ++k) {
      const PlainOutcome rule = plain_outcome(head, set, kSeveral[k], scores);
      Measurement& m = all[k].sums;
      const double share = 1.0 / static_cast<double>(c.sets);
      all[k].unsure += rule.unsure || hard.unsure;
      m.right += rule.right;
      m.ranked_first += std::max_element(scores.begin(), scores.end()) - scores.begin() == set.right;
      m.hard_right_rule_wrong += hard.right && !rule.right;
      m.hard_wrong_rule_right += !hard.right && rule.right;
      m.entropy += share * rule.entropy;
      m.peak_weight += share * rule.peak;
      m.right_weight += share * rule.right_weight;
      m.temperature += share * rule.temperature;
      m.spread += share * (*most - *least);
      m.largest_peak_weight = std::max(m.largest_peak_weight, rule.peak);
      m.largest_spread = std::max(m.largest_spread, *most - *least);
    }
  }
  return all;
}

// Kernels against specifications are the business of rows_against_oracle.cc, with bounds derived there: at
// these spreads about 1e-5. What is mixed up here is wrong by far more than this.
void expect_close(double found, double wanted, std::string_view what) {
  if (std::isnan(wanted)) {
    EXPECT_TRUE(std::isnan(found)) << what;
  } else {
    EXPECT_NEAR(found, wanted, 1e-4 * (1.0 + std::abs(wanted))) << what;
  }
}

void expect_same(const Measurement& m, const PlainMeasurement& plain, const Case& c) {
  SCOPED_TRACE(
      fmt::format("{} {} width {} classes {} n {}", m.normalizer, word(c.encoder), c.width, c.classes, c.n));
  const Measurement& p = plain.sums;
  EXPECT_EQ(m.sets, c.sets);
  EXPECT_EQ(m.n, c.n);
  EXPECT_LE(plain.unsure, c.sets / 10);
  EXPECT_LE(std::abs(m.right - p.right), plain.unsure);
  EXPECT_EQ(m.ranked_first, p.ranked_first);
  EXPECT_LE(std::abs(m.hard_right_rule_wrong - p.hard_right_rule_wrong), plain.unsure);
  EXPECT_LE(std::abs(m.hard_wrong_rule_right - p.hard_wrong_rule_right), plain.unsure);
  EXPECT_EQ(m.hard_right_rule_right + m.hard_wrong_rule_right, m.right);
  EXPECT_EQ(
      m.hard_right_rule_right + m.hard_right_rule_wrong + m.hard_wrong_rule_right + m.hard_wrong_rule_wrong,
      m.sets);
  expect_close(m.entropy, p.entropy, "entropy");
  expect_close(m.peak_weight, p.peak_weight, "peak weight");
  expect_close(m.right_weight, p.right_weight, "weight of the right item");
  expect_close(m.temperature, p.temperature, "temperature");
  expect_close(m.largest_peak_weight, p.largest_peak_weight, "largest peak weight");
  EXPECT_NEAR(m.spread, p.spread, 1e-10 * p.spread);
  EXPECT_NEAR(m.largest_spread, p.largest_spread, 1e-10 * p.largest_spread);
}

void expect_agreement(const Case& c) {
  const Head head = random_head(c.encoder, c.width, c.classes, 7 + static_cast<std::uint64_t>(c.n));
  const Evaluation found =
      evaluate(head, {.n = c.n, .sets = c.sets, .normalizers = kSeveral}, {.threads = 2});
  const auto plain = plain_evaluation(head, c);
  ASSERT_EQ(found.measurements.size(), kSeveral.size());
  EXPECT_TRUE(found.heat_maps.empty());
  EXPECT_EQ(found.bound_violations, 0);
  EXPECT_GT(plain[0].sums.spread, c.n == 1 ? -1.0 : 1.0) << "scores too flat to test anything";
  for (std::size_t k = 0; k < kSeveral.size(); ++k) expect_same(found.measurements[k], plain[k], c);
}

TEST(RetrievalEvaluation, AgreesWithTheHeadUnfolded) {
  for (const Case& c : {Case{Encoder::mlp, 24, 5, 1, 40}, Case{Encoder::mlp, 17, 3, 2, 300},
                        Case{Encoder::mlp, 24, 10, 13, 320}, Case{Encoder::mlp, 33, 4, 600, 11},
                        Case{Encoder::linear, 24, 5, 1, 40}, Case{Encoder::linear, 1, 2, 3, 300},
                        Case{Encoder::linear, 20, 10, 16, 300}, Case{Encoder::linear, 31, 7, 1031, 9}})
    expect_agreement(c);
}

TEST(RetrievalEvaluation, AgreesOnEveryInstructionSet) {
  for_each_target([](const std::string& target) {
    SCOPED_TRACE(target);
    expect_agreement({Encoder::mlp, 19, 6, 37, 30});
  });
}

std::vector<std::uint64_t> bits_of_evaluation(const Evaluation& e) {
  std::vector<std::uint64_t> all;
  for (const Measurement& m : e.measurements) {
    for (const std::int64_t count : {m.sets, m.right, m.ranked_first, m.hard_right_rule_right,
                                     m.hard_right_rule_wrong, m.hard_wrong_rule_right})
      all.push_back(static_cast<std::uint64_t>(count));
    for (const double value : {m.entropy, m.peak_weight, m.right_weight, m.temperature, m.spread,
                               m.largest_peak_weight, m.largest_spread})
      all.push_back(std::bit_cast<std::uint64_t>(value));
  }
  for (const HeatMap& map : e.heat_maps)
    for (const float w : map.weights) all.push_back(std::bit_cast<std::uint32_t>(w));
  return all;
}

// What a set can be tested under share by share: all but a rule that has no kernel.
std::span<const AnyNormalizer> streamed_rules() { return std::span(kSeveral).first(kSeveral.size() - 1); }

// BLAS multiplies the queries of several held sets at once and that of a streamed set alone, and may add in another order;
// so may lanes. A score is two chains of 21 products in double, each rounded twice; their terms are below 100 spreads.
constexpr double kRounding = 2 * 2 * 21 * 100 * std::numeric_limits<double>::epsilon();

TEST(RetrievalEvaluation, SetsThatAreNeverHeldHaveTheMeasurementsOfThoseThatAre) {
  for (const Encoder encoder : {Encoder::linear, Encoder::mlp}) {
    const Head head = random_head(encoder, 20, 5, 11);
    EvaluationRequest request{.n = 40'001, .sets = 3, .normalizers = streamed_rules(), .heat_map_sets = 2, .heat_map_items = 4};
    const Evaluation held = evaluate(head, request, {.threads = 1});
    request.held_items = 1;
    const Evaluation streamed = evaluate(head, request, {.threads = 2});
    for (std::size_t k = 0; k < held.measurements.size(); ++k) {
      const Measurement &a = held.measurements[k], &b = streamed.measurements[k];
      SCOPED_TRACE(fmt::format("{} {}", word(encoder), a.normalizer));
      EXPECT_EQ(a.right, b.right);
      EXPECT_EQ(a.ranked_first, b.ranked_first);
      EXPECT_EQ(a.hard_right_rule_right, b.hard_right_rule_right);
      EXPECT_NEAR(b.spread, a.spread, kRounding * a.spread);
      expect_close(b.entropy, a.entropy, "entropy");
      expect_close(b.peak_weight, a.peak_weight, "peak weight");
      expect_close(b.right_weight, a.right_weight, "weight of the right item");
      expect_close(b.temperature, a.temperature, "temperature");
      ASSERT_EQ(held.heat_maps[k].weights.size(), streamed.heat_maps[k].weights.size());
      for (std::size_t i = 0; i < held.heat_maps[k].weights.size(); ++i)
        expect_close(streamed.heat_maps[k].weights[i], held.heat_maps[k].weights[i], "heat map");
    }
  }
}

TEST(RetrievalEvaluation, RanksOfAnyNumberAndThreadsMeasureTheSameBits) {
  const Head head = random_head(Encoder::linear, 20, 5, 11);
  EvaluationRequest request{
      .n = 100'001, .sets = 2, .normalizers = streamed_rules(), .heat_map_sets = 1, .heat_map_items = 4, .held_items = 1};
  const std::vector<std::uint64_t> alone = bits_of_evaluation(evaluate(head, request, {.threads = 2}));
  for (const int ranks : {2, 3, 5, 8})
    with_ranks(ranks, [&](Group& group) {
      EvaluationRequest of_rank = request;
      of_rank.group = &group;
      EXPECT_EQ(bits_of_evaluation(evaluate(head, of_rank, {.threads = 1})), alone) << "rank " << group.rank() << " of " << ranks;
    });
}


TEST(RetrievalEvaluation, IsBitwiseTheSameForAnyNumberOfThreads) {
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    const Head head = random_head(encoder, 32, 10, 3);
    for (const std::int64_t n : {16, 700}) {
      std::vector<std::int64_t> progress;
      const EvaluationRequest request{.n = n,
                                      .sets = 601,
                                      .normalizers = kSeveral,
                                      .heat_map_sets = 9,
                                      .progress = [&](std::int64_t done) { progress.push_back(done); }};
      const auto one = bits_of_evaluation(evaluate(head, request, {.threads = 1}));
      ASSERT_FALSE(progress.empty());
      EXPECT_EQ(progress.back(), 601);
      EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
      for (const int threads : {2, 3}) EXPECT_EQ(one, bits_of_evaluation(evaluate(head, request, {.threads = threads})));
    }
  }
}

TEST(RetrievalEvaluation, HowManyNormalizersAreWeighedAtOnceChangesNothing) {
  const Head head = random_head(Encoder::mlp, 32, 10, 5);
  const EvaluationRequest request{.n = 90, .sets = 30, .normalizers = kSeveral};
  EvaluationPlan plan(head, request);
  const auto run = [&](std::int64_t group) {
    plan.group = group;
    return bits_of_evaluation({.measurements = BlockEvaluator(plan).run(0, 30, {}).sums});
  };
  const auto all = run(static_cast<std::int64_t>(kSeveral.size()));
  for (const std::int64_t group : {1, 4, 5}) EXPECT_EQ(run(group), all);
}

TEST(RetrievalEvaluation, HardAttentionAgreesWithItself) {
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    const auto hard = normalizers({"hard"});
    const Head head = random_head(encoder, 40, 10, 11);
    const Measurement m = evaluate(head, {.n = 50, .sets = 200, .normalizers = hard}).measurements[0];
    EXPECT_EQ(m.hard_right_rule_wrong + m.hard_wrong_rule_right, 0);
    EXPECT_EQ(m.right, m.hard_right_rule_right);
    EXPECT_EQ(m.accuracy(), m.hard_accuracy());
    EXPECT_EQ(m.peak_weight, 1.0);
  }
}

TEST(RetrievalEvaluation, TheScoresOfATestSetAreThoseOfTheFormulas) {
  for (const Encoder encoder : {Encoder::linear, Encoder::mlp}) {
    const Head head = random_head(encoder, 16, 5, 2);
    for (const std::int64_t n : {1, 5, 700}) {
      Set set;
      draw_test_set(head.seed, 5, n, 3, set);
      const std::vector<double> wanted = PlainHead(head).scores(set), found = scores_of_test_set(head, n, 3);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        EXPECT_NEAR(found[i], wanted[i], 1e-10 * (1.0 + std::abs(wanted[i])));
    }
  }
}

TEST(RetrievalEvaluation, QuantilesAreEvenlySpacedOverTheSortedScores) {
  std::vector<double> scores(201);
  std::iota(scores.begin(), scores.end(), -100.0);
  std::rotate(scores.begin(), scores.begin() + 77, scores.end());
  const std::vector<double> nine = even_quantiles(scores, 9);
  for (std::size_t i = 0; i < nine.size(); ++i)
    EXPECT_DOUBLE_EQ(nine[i], -100.0 + 25.0 * static_cast<double>(i));
  EXPECT_DOUBLE_EQ(even_quantiles({3.0, 0.0, 1.0, 2.0}, 3)[1], 1.5);
  EXPECT_EQ(even_quantiles({3.0, 1.0, 2.0}, 3), (std::vector<double>{1.0, 2.0, 3.0}));
  EXPECT_EQ(even_quantiles({3.0}, 65), (std::vector<double>{3.0}));
}

TEST(RetrievalEvaluation, HeatMapsShowTheLargestItemsWithTheLargestAtTheRight) {
  const Head head = random_head(Encoder::mlp, 16, 5, 2);
  const auto two = normalizers({"softmax", "sigmoid"});
  const PlainHead plain(head);
  for (const std::int64_t n : {5, 40}) {
    const Evaluation e =
        evaluate(head, {.n = n, .sets = 20, .normalizers = two, .heat_map_sets = 6, .heat_map_items = 8});
    ASSERT_EQ(e.heat_maps.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      const HeatMap& map = e.heat_maps[k];
      EXPECT_EQ(map.normalizer, two[k].text());
      ASSERT_EQ(map.sets, 6);
      ASSERT_EQ(map.items, std::min<std::int64_t>(n, 8));
      for (std::int64_t s = 0; s < map.sets; ++s) {
        Set set;
        draw_test_set(head.seed, 5, n, s, set);
        std::vector<double> weights(static_cast<std::size_t>(n));
        weigh_row(two[k], 0, plain.scores(set), weights);
        std::vector<std::size_t> order(weights.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return set.priorities[a] < set.priorities[b]; });
        const double mass = std::accumulate(weights.begin(), weights.end(), 0.0);
        EXPECT_EQ(static_cast<std::int64_t>(order.back()), set.right);
        for (std::int64_t i = 0; i < map.items; ++i)
          EXPECT_NEAR(map.weights[static_cast<std::size_t>(s * map.items + i)],
                      weights[order[static_cast<std::size_t>(n - map.items + i)]] / mass, 1e-5);
      }
    }
  }
}

TEST(RetrievalEvaluation, RowsOutsideACertificateAreCounted) {
  const Head head = random_head(Encoder::mlp, 16, 5, 2);
  const auto two = normalizers({"softmax", "hard"});
  EvaluationRequest request{.n = 9, .sets = 50, .normalizers = two};
  const double largest = evaluate(head, request).measurements[0].largest_spread;
  request.certified_spread = largest;
  EXPECT_EQ(evaluate(head, request).bound_violations, 0);
  request.certified_spread = 1e-3;  // no such head: every spread, and every weight above 1/9, is too large
  EXPECT_EQ(evaluate(head, request).bound_violations, 100);
}

TEST(RetrievalEvaluation, KnowsWhichRulesIgnoreAShift) {
  for (const Setting& setting : all_settings()) {
    if (setting.text == "linear") continue;
    EXPECT_EQ(facts_of(AnyNormalizer::parse(setting.text), 16).ignores_shift, setting.shift_invariant)
        << setting.text;
  }
}

TEST(RetrievalEvaluation, RefusesWhatCannotBeTested) {
  Head head = random_head(Encoder::mlp, 16, 5, 2);
  const auto linear = normalizers({"linear"}), softmax = normalizers({"softmax"});
  EXPECT_THROW(evaluate(head, {.n = 4, .sets = 1, .normalizers = linear}), Error);
  EXPECT_THROW(evaluate(head, {.n = 0, .sets = 1, .normalizers = softmax}), Error);
  EXPECT_THROW(evaluate(head, {.n = 4, .sets = 0, .normalizers = softmax}), Error);
  head.parameters.pop_back();
  EXPECT_THROW(evaluate(head, {.n = 4, .sets = 1, .normalizers = softmax}), Error);
}

TEST(FoldedHead, ScoresAndLogitsAreThoseOfTheHeadUnfolded) {
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    const Head head = random_head(encoder, 23, 6, 9);
    const PlainHead plain(head);
    const FoldedHead folded(head);
    Set set;
    draw_test_set(9, 6, 40, 0, set);
    const auto scores = plain.scores(set);
    const auto t = folded.query_vector(set.query);
    std::vector<double> pooled(t.size(), 0.0), weights(scores.size()), logits(6);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      auto g = plain.item_features(set.priorities[i], set.classes[i]);
      g.push_back(1.0);
      double score = 0.0, size = 0.0;
      weights[i] = 1.0 / (3.0 + static_cast<double>(i));
      for (std::size_t j = 0; j < g.size(); ++j) {
        score += t[j] * g[j];
        size += std::abs(t[j] * g[j]);
        pooled[j] += weights[i] * g[j];
      }
      EXPECT_NEAR(score, scores[i], 1e-13 * size);
    }
    folded.read_out(pooled, logits);
    const auto wanted = plain.logits(set, weights);
    for (std::size_t c = 0; c < 6; ++c)
      EXPECT_NEAR(logits[c], wanted[c], 1e-12 * (1.0 + std::abs(wanted[c])));
  }
}

TEST(FoldedHead, GeluIsTheTanhFormAndItsSlopeTheDerivative) {
  for (double x = -12.0; x <= 12.0; x += 0.0625) {
    const double wanted = 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    EXPECT_NEAR(gelu(x), wanted, 1e-15 * (1.0 + std::abs(x)));
    const double h = 1e-5;
    EXPECT_NEAR(gelu_slope(x), (gelu(x + h) - gelu(x - h)) / (2.0 * h), 1e-9);
  }
  EXPECT_EQ(gelu(-1e200), 0.0);
  EXPECT_EQ(gelu(1e200), 1e200);
  EXPECT_EQ(gelu_slope(-1e200), 0.0);
  EXPECT_EQ(gelu_slope(1e200), 1.0);
}

}  // namespace
}  // namespace sharpmax::test
