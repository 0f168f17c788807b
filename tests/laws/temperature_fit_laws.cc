// Fits find what was planted, best temperatures are best, and only what the head gets wrong is fitted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "base/random.h"
#include "normalizer/definition.h"
#include "retrieval/fit/temperature_fit.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"
#include "support/retrieval_head.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::retrieval;
using Losses = std::function<void(std::span<const double>, std::span<double>)>;

std::vector<FitPoint> points_on(std::span<const double> polynomial, double noise) {
  const CounterRandom random(3, 4);
  std::vector<FitPoint> points;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const double entropy = 0.5 + 5.5 * (random.bits(i)[0] * 0x1p-32);
    points.push_back(
        {.entropy = entropy, .beta = value_of(polynomial, entropy) + noise * random.normals(1000 + i)[0]});
  }
  return points;
}

TEST(PolynomialFit, RecoversAPlantedPolynomialOfAnyDegree) {
  const std::vector<double> all = {1e-4, -2e-3, 0.02, -0.1, -0.037, 0.481, -2.3, 4.917, -1.791};
  for (int degree = 0; degree <= kLargestFitDegree; ++degree) {
    const std::vector<double> planted(all.end() - degree - 1, all.end());
    const auto points = points_on(planted, 0.0);
    const PolynomialFit fit = fit_polynomial(points, degree);
    ASSERT_EQ(fit.polynomial.size(), planted.size());
    double size = 0.0;
    for (const FitPoint& p : points) size = std::max(size, std::abs(p.beta));
    EXPECT_LE(fit.rms_residual, 1e-12 * size) << degree;
    // Powers of H up to 6 make coefficients worse by up to (6 / 2.75)^degree and the basis' own growth.
    for (std::size_t i = 0; i < planted.size(); ++i)
      EXPECT_NEAR(fit.polynomial[i], planted[i], 1e-9 * (1.0 + std::abs(planted[i]))) << degree << " " << i;
  }
}

TEST(PolynomialFit, ResidualsOfANoisyFitAreOrthogonalToEveryPower) {
  const auto points = points_on(Adaptive{}.polynomial, 0.3);
  const PolynomialFit fit = fit_polynomial(points, 3, 7);
  for (int power = 0; power <= 3; ++power) {
    double sum = 0.0, size = 0.0;
    for (const FitPoint& p : points) {
      const double term = std::pow(p.entropy, power) * (p.beta - value_of(fit.polynomial, p.entropy));
      sum += term;
      size += std::abs(term);
    }
    EXPECT_LE(std::abs(sum), 1e-10 * size) << power;
  }
  std::int64_t in_bins = 0;
  double weighted = 0.0, squares = 0.0;
  for (const ResidualBin& bin : fit.bins) {
    in_bins += bin.points;
    if (bin.points > 0) weighted += bin.mean_residual * static_cast<double>(bin.points);
  }
  for (const FitPoint& p : points) squares += std::pow(p.beta - value_of(fit.polynomial, p.entropy), 2);
  EXPECT_EQ(fit.bins.size(), 7u);
  EXPECT_EQ(in_bins, 300);
  EXPECT_NEAR(weighted, 0.0, 1e-9);  // the constant is one of the powers
  EXPECT_NEAR(fit.rms_residual, std::sqrt(squares / 300.0), 1e-12);
  EXPECT_LT(fit.rms_residual, 1.0);
}

TEST(PolynomialFit, RoundedCoefficientsAreShorterAndMoveNoValueByMoreThanAllowed) {
  const auto points = points_on(Adaptive{}.polynomial, 0.3);
  const PolynomialFit exact = fit_polynomial(points, 4), rounded = fit_polynomial(points, 4, 10, 1e-3);
  double moved = 0.0, squares = 0.0;
  for (const FitPoint& p : points) {
    const double value = value_of(rounded.polynomial, p.entropy);
    moved = std::max(moved, std::abs(value - value_of(exact.polynomial, p.entropy)));
    squares += std::pow(p.beta - value, 2);
  }
  EXPECT_GT(moved, 0.0);
  EXPECT_LE(moved, 1e-3);
  EXPECT_NEAR(rounded.rms_residual, std::sqrt(squares / 300.0), 1e-12);  // of what is written down
  for (const double coefficient : rounded.polynomial)
    EXPECT_LE(fmt::format("{}", coefficient).size(), 10u) << coefficient;
}

TEST(PolynomialFit, BinsHoldThePointsOfTheirOwnEntropies) {
  const std::vector<FitPoint> points = {{.entropy = 0.0, .beta = 1.0},
                                        {.entropy = 0.9, .beta = 3.0},
                                        {.entropy = 3.5, .beta = 5.0},
                                        {.entropy = 4.0, .beta = 7.0}};
  const PolynomialFit fit = fit_polynomial(points, 0, 4);
  EXPECT_NEAR(fit.polynomial[0], 4.0, 1e-14);
  const std::vector<std::int64_t> counts = {2, 0, 0, 2};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(fit.bins[i].points, counts[i]);
  EXPECT_NEAR(fit.bins[0].mean_beta, 2.0, 1e-14);
  EXPECT_NEAR(fit.bins[0].mean_residual, -2.0, 1e-14);
  EXPECT_NEAR(fit.bins[0].rms_residual, std::sqrt(5.0), 1e-14);  // of -3 and -1
  EXPECT_TRUE(std::isnan(fit.bins[1].mean_residual));
  EXPECT_EQ(fit.entropy.low, 0.0);
  EXPECT_EQ(fit.entropy.high, 4.0);
}

TEST(PolynomialFit, RefusesWhatDoesNotDetermineAPolynomial) {
  const auto points = points_on(Adaptive{}.polynomial, 0.1);
  EXPECT_THROW(fit_polynomial(points, -1), Error);
  EXPECT_THROW(fit_polynomial(points, kLargestFitDegree + 1), Error);
  EXPECT_THROW(fit_polynomial({}, 0), Error);
  EXPECT_THROW(fit_polynomial(std::span(points).first(4), 4), Error);
  EXPECT_NO_THROW(fit_polynomial(std::span(points).first(5), 4));
  EXPECT_THROW(fit_polynomial(std::vector<FitPoint>(50, points[0]), 1), Error);
  EXPECT_NO_THROW(fit_polynomial(std::vector<FitPoint>(50, points[0]), 0));
}

TEST(WhereAboveOne, FindsWhereThePublishedPolynomialSwitchesItselfOnAndOff) {
  const auto published = Adaptive{}.polynomial;
  const auto above = where_above_one(published, {0.0, 16.0});
  ASSERT_EQ(above.size(), 1u);
  EXPECT_NEAR(value_of(published, above[0].low), 1.0, 1e-12);
  EXPECT_NEAR(value_of(published, above[0].high), 1.0, 1e-11);
  EXPECT_EQ(fmt::format("{:.3f} {:.3f}", above[0].low, above[0].high), "0.849 5.945");
}

TEST(WhereAboveOne, KnowsAlwaysNeverAndMoreThanOnce) {
  const std::vector<double> one_and_a_bit = {1.5}, half = {0.5}, rising = {1.0, 0.0};
  const auto always = where_above_one(one_and_a_bit, {0.0, 2.0});
  ASSERT_EQ(always.size(), 1u);
  EXPECT_EQ(always[0].low, 0.0);
  EXPECT_EQ(always[0].high, 2.0);
  EXPECT_TRUE(where_above_one(half, {0.0, 2.0}).empty());
  const auto above = where_above_one(rising, {0.0, 3.0});
  ASSERT_EQ(above.size(), 1u);
  EXPECT_NEAR(above[0].low, 1.0, 1e-15);
  EXPECT_EQ(above[0].high, 3.0);
  // 1 + (x - 1)(x - 2)(x - 3)
  const std::vector<double> cubic = {1.0, -6.0, 11.0, -5.0};
  const auto twice = where_above_one(cubic, {0.0, 4.0});
  ASSERT_EQ(twice.size(), 2u);
  EXPECT_NEAR(twice[0].low, 1.0, 1e-12);
  EXPECT_NEAR(twice[0].high, 2.0, 1e-12);
  EXPECT_NEAR(twice[1].low, 3.0, 1e-12);
}

Losses each(double (*loss)(double)) {
  return [loss](std::span<const double> betas, std::span<double> losses) {
    std::transform(betas.begin(), betas.end(), losses.begin(), loss);
  };
}

TEST(BestTemperature, FindsTheLowestPlaceAndTheEndsOfMonotoneLosses) {
  const auto well = each([](double b) { return std::pow(std::log(b / 2.3), 2.0); });
  EXPECT_NEAR(best_temperature(0.25, 16.0, well).beta, 2.3, 1e-5);
  EXPECT_EQ(best_temperature(0.25, 16.0, each([](double b) { return 1.0 / b; })).beta, 16.0);
  EXPECT_EQ(best_temperature(0.25, 16.0, each([](double b) { return b; })).beta, 0.25);
  EXPECT_EQ(best_temperature(0.25, 16.0, each([](double) { return 7.0; })).beta, 1.0);
  EXPECT_EQ(best_temperature(1.0, 1.0, well).beta, 1.0);
  const auto two_wells = each([](double b) {
    const double near = std::log(b / 0.5), far = std::log(b / 8.0);
    return std::min(near * near, far * far - 0.1);
  });
  EXPECT_NEAR(best_temperature(0.25, 16.0, two_wells).beta, 8.0, 1e-4);
}

// What head.h's formulas say of one set under softmax at beta.
struct PlainTrial {
  double loss = 0.0;
  bool right = false;
};
PlainTrial plain_trial(const PlainHead& head, const Set& set, const std::vector<double>& scores,
                       double beta) {
  std::vector<double> weights(scores.size());
  weigh_row(Softmax{.beta = beta}, 0, scores, weights);
  const auto logits = head.logits(set, weights);
  const auto wanted = static_cast<std::size_t>(set.classes[static_cast<std::size_t>(set.right)]);
  double sum = 0.0;
  for (const double logit : logits) sum += std::exp(logit - logits[wanted]);
  return {std::log(sum), std::max_element(logits.begin(), logits.end()) - logits.begin() ==
                             static_cast<std::ptrdiff_t>(wanted)};
}

TEST(TemperatureFit, FitsAllSetsThatTheHeadGetsWrongAndNoOthersEachAtItsBest) {
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    const Head head = random_head(encoder, 12, 3, 4);
    const PlainHead plain(head);
    std::vector<FitCount> counts;
    const auto points = best_temperatures(head, {.sizes = {5, 40}, .sets = 25}, counts);
    ASSERT_EQ(counts.size(), 2u);
    ASSERT_EQ(static_cast<std::int64_t>(points.size()), counts[0].wrong + counts[1].wrong);
    std::size_t next = 0;
    const std::int64_t first = points.at(0).set - points.at(0).set % (1 << 24);
    for (const FitCount& count : counts)
      for (std::int64_t s = first; s < first + 25; ++s) {
        Set set;
        draw_test_set(head.seed, 3, count.n, s, set);
        const auto scores = plain.scores(set);
        const PlainTrial at_one = plain_trial(plain, set, scores, 1.0);
        if (at_one.right) continue;
        ASSERT_LT(next, points.size());
        const FitPoint& p = points[next++];
        ASSERT_EQ(p.n, count.n);
        ASSERT_EQ(p.set, s);
        EXPECT_NEAR(p.loss, at_one.loss, 1e-9);
        const PlainTrial best = plain_trial(plain, set, scores, p.beta);
        EXPECT_NEAR(p.best_loss, best.loss, 1e-9);
        EXPECT_EQ(p.mended, best.right);
        for (double beta = 0.25; beta <= 16.0; beta *= 1.07)
          EXPECT_GE(plain_trial(plain, set, scores, beta).loss, p.best_loss - 1e-9);
        std::vector<double> weights(scores.size());
        weigh_row(Softmax{}, 0, scores, weights);
        double entropy = 0.0;
        for (const double w : weights) entropy -= w > 0.0 ? w * std::log(w) : 0.0;
        EXPECT_NEAR(p.entropy, entropy, 1e-9);
      }
    EXPECT_EQ(next, points.size());
    EXPECT_GT(next, 5u);
    EXPECT_LT(next, 50u);
  }
}

std::vector<std::uint64_t> bits_of_fit(const TemperatureFit& r) {
  std::vector<std::uint64_t> all;
  for (const FitPoint& p : r.points)
    for (const double x : {p.entropy, p.beta, p.loss, p.best_loss})
      all.push_back(std::bit_cast<std::uint64_t>(x));
  for (const double x : r.fit.polynomial) all.push_back(std::bit_cast<std::uint64_t>(x));
  for (const Evaluation& e : r.comparison)
    for (const Measurement& m : e.measurements) all.push_back(static_cast<std::uint64_t>(m.right));
  return all;
}

TEST(TemperatureFit, IsBitwiseTheSameForAnyNumberOfThreads) {
  const Head head = random_head(Encoder::mlp, 16, 5, 8);
  const TemperatureFitRequest request{
      .sizes = {16, 60}, .sets = 40, .degree = 2, .comparison_sizes = {8, 30}, .comparison_sets = 50};
  const auto one = bits_of_fit(fit_temperature(head, request, {.threads = 1}));
  for (const int threads : {2, 3})
    EXPECT_EQ(bits_of_fit(fit_temperature(head, request, {.threads = threads})), one);
}

TEST(TemperatureFit, ComparesPublishedAndRefittedOnFreshSetsAndKeepsTheMendedWhenAsked) {
  TrainingSettings training;
  training.encoder = Encoder::linear;
  training.width = 16;
  training.learning_rate = 1e-2;
  Trainer trainer(training, 1);
  while (trainer.steps_done() < 300) trainer.step();
  const Head head = trainer.head();
  TemperatureFitRequest request{
      .sizes = {20, 50}, .sets = 400, .degree = 1, .comparison_sizes = {12}, .comparison_sets = 30};
  const TemperatureFit all = fit_temperature(head, request);
  ASSERT_EQ(all.comparison.size(), 1u);
  ASSERT_EQ(all.comparison[0].measurements.size(), 4u);
  EXPECT_EQ(all.comparison[0].measurements[1].normalizer, AnyNormalizer(Adaptive{}).text());
  EXPECT_EQ(all.comparison[0].measurements[2].normalizer,
            AnyNormalizer(Adaptive{.polynomial = all.fit.polynomial}).text());
  request.use = FitSets::mended;
  ASSERT_GT(all.counts[0].mended, 2);
  const TemperatureFit some = fit_temperature(head, request);
  EXPECT_LT(some.points.size(), all.points.size());
  EXPECT_EQ(static_cast<std::int64_t>(some.points.size()), all.counts[0].mended + all.counts[1].mended);
  for (const FitPoint& p : some.points) EXPECT_TRUE(p.mended);
}

TEST(TemperatureFit, RefusesBadSettings) {
  const Head head = random_head(Encoder::linear, 8, 3, 1);
  EXPECT_THROW(fit_temperature(head, {.sizes = {}}), Error);
  EXPECT_THROW(fit_temperature(head, {.sizes = {0}}), Error);
  EXPECT_THROW(fit_temperature(head, {.sizes = {16, 16}}), Error);
  EXPECT_THROW(fit_temperature(head, {.sets = 0}), Error);
  EXPECT_THROW(fit_temperature(head, {.degree = 9}), Error);
  EXPECT_THROW(fit_temperature(head, {.least_beta = 0.0}), Error);
  EXPECT_THROW(fit_temperature(head, {.largest_beta = 0.5}), Error);
  EXPECT_THROW(fit_temperature(head, {.sizes = {1}, .sets = 3, .degree = 4}), Error);  // too few are wrong
  bool worked = false;
  const auto note = [&](std::int64_t, std::int64_t) { worked = true; };
  EXPECT_THROW(fit_temperature(head, {.comparison_sizes = {0}, .progress = note}), Error);
  EXPECT_FALSE(worked);  // told before the work, not after
}

TEST(TemperatureFit, TellsHowFarItIsInItems) {
  const Head head = random_head(Encoder::linear, 8, 3, 1);
  std::int64_t fitted = 0, compared = 0;
  TemperatureFitRequest request{
      .sizes = {5, 40}, .sets = 40, .degree = 0, .comparison_sizes = {7, 30}, .comparison_sets = 11};
  request.progress = [&](std::int64_t done, std::int64_t of) {
    EXPECT_EQ(of, 40 * 45);
    EXPECT_GT(done, fitted);
    fitted = done;
  };
  request.comparison_progress = [&](std::int64_t done, std::int64_t of) {
    EXPECT_EQ(of, 11 * 37);
    EXPECT_GT(done, compared);
    compared = done;
  };
  fit_temperature(head, request);
  EXPECT_EQ(fitted, 40 * 45);
  EXPECT_EQ(compared, 11 * 37);
}

}  // namespace
}  // namespace sharpmax::test
