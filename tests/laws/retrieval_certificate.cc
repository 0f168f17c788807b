// No input passes a certified spread, and no weight the bound that follows from it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"
#include "normalizer/definition.h"
#include "retrieval/certificate/certificate.h"
#include "support/retrieval_head.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::retrieval;

// Two items under one query; what they spread is to be made large.
struct Pair {
  std::array<double, 3> at{};  // the two priorities and the query
  std::int32_t high = 0, low = 0;
};

double spread_of(const PlainHead& head, const Pair& p) {
  const auto q = head.query(p.at[2]);
  return head.score(q, head.item(p.at[0], p.high)) - head.score(q, head.item(p.at[1], p.low));
}

// Uphill along each coordinate in turn, with ever smaller steps.
double climb_pair(const PlainHead& head, Pair p) {
  double best = spread_of(head, p);
  for (double step = 0.25; step > 1e-4; step *= 0.5)
    for (std::size_t k = 0; k < 3; ++k)
      for (const double side : {-step, step}) {
        Pair moved = p;
        moved.at[k] = std::clamp(p.at[k] + side, 0.0, 1.0);
        const double spread = spread_of(head, moved);
        if (spread > best) best = spread, p = moved;
      }
  return best;
}

void multiply(Head& head, Part part, double factor) {
  const PartShape shape = head.layout()[part];
  for (std::int64_t i = shape.offset; i < shape.offset + shape.size(); ++i)
    head.parameters[static_cast<std::size_t>(i)] *= factor;
}

void expect_certified(const Head& head) {
  const SpreadCertificate found = certify_spread(head);
  EXPECT_GT(found.attained, 0.0);
  EXPECT_LE(found.attained, found.certified);
  EXPECT_LE(found.certified, 1.01 * found.attained);
  const PlainHead plain(head);
  const CounterRandom random(head.seed, 99);
  double largest = 0.0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    Pair p;
    const auto bits = random.bits(2 * i), more = random.bits(2 * i + 1);
    for (std::size_t k = 0; k < 3; ++k) p.at[k] = bits[k] * 0x1p-32;
    p.high = static_cast<std::int32_t>(more[0] % static_cast<std::uint64_t>(head.training.classes));
    p.low = static_cast<std::int32_t>(more[1] % static_cast<std::uint64_t>(head.training.classes));
    largest = std::max(largest, climb_pair(plain, p));
  }
  EXPECT_LE(largest, found.certified);
  EXPECT_GE(largest, 0.5 * found.attained);  // else the climb proves nothing
}

TEST(SpreadCertificate, IsNotPassedByAnyInputOfAnyHead) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_certified(random_head(Encoder::mlp, 20, 5, seed));
    expect_certified(random_head(Encoder::linear, 20, 5, seed));
    Head steep = random_head(Encoder::mlp, 20, 4, seed);
    multiply(steep, Part::item_in_weight, 8.0);
    expect_certified(steep);
    Head restless = random_head(Encoder::mlp, 20, 4, seed);  // the query matters
    multiply(restless, Part::query_in_weight, 8.0);
    expect_certified(restless);
    Head many = random_head(Encoder::linear, 12, 30, seed);
    many.training.scale_scores = false;
    expect_certified(many);
  }
}

TEST(SpreadCertificate, BoundsOfGeluHoldEverywhere) {
  const double rate = 2.0 * std::sqrt(2.0 / std::numbers::pi), cubic = 0.044715;
  const auto curvature = [&](double x) {
    const double u = rate * (x + cubic * x * x * x), u1 = rate * (1.0 + 3.0 * cubic * x * x);
    const double s = 1.0 / (1.0 + std::exp(-u)), s1 = s * (1.0 - s), s2 = s1 * (1.0 - 2.0 * s);
    return 2.0 * s1 * u1 + x * (s2 * u1 * u1 + s1 * 6.0 * rate * cubic * x);
  };
  constexpr double kStep = 1e-4;
  double slope = 0.0, curved = 0.0, change = 0.0, last = curvature(-8.0);
  for (double x = -8.0; x <= 8.0; x += kStep) {
    slope = std::max(slope, std::abs(gelu_slope(x)));
    curved = std::max(curved, std::abs(curvature(x)));
    change = std::max(change, std::abs(curvature(x) - last));
    last = curvature(x);
  }
  // Between two points a function rises by at most half a step of its derivative.
  EXPECT_LE(slope + kStep * curved, kLargestGeluSlope);
  EXPECT_LE(curved + 2.0 * change, kLargestGeluCurvature);
  EXPECT_GE(slope, 0.99 * kLargestGeluSlope);
  EXPECT_GE(curved, 0.99 * kLargestGeluCurvature);
  for (const double x : {8.0, 9.0, 20.0, 1e3}) {
    EXPECT_NEAR(gelu_slope(x), 1.0, 1e-15);
    EXPECT_NEAR(gelu_slope(-x), 0.0, 1e-15);
    EXPECT_NEAR(curvature(x), 0.0, 1e-13);
  }
}

TEST(WeightBound, IsWhatOneWinnerAboveEqualLosersGets) {
  for (const double delta : {0.0, 0.5, 3.0, 20.0, 600.0, 1e4})
    for (const double beta : {0.25, 1.0, 2.5})
      for (const std::size_t n : {1u, 2u, 17u, 5000u}) {
        std::vector<double> scores(n, -0.25), weights(n);
        scores[n / 2] += delta;
        weigh_row(Softmax{.beta = beta}, 0, scores, weights);
        const double bound = largest_possible_weight(static_cast<double>(n), delta, beta);
        EXPECT_NEAR(weights[n / 2], bound, 1e-12 * bound) << n << " " << delta << " " << beta;
      }
}

TEST(WeightBound, IsNotPassedByAnyRowWithinTheSpread) {
  const CounterRandom random(5, 1);
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto bits = random.bits(i << 20);
    const std::size_t n = 1 + bits[0] % 300;
    const double delta = std::exp(bits[1] * 0x1p-32 * 12.0 - 5.0);
    std::vector<double> scores, weights(n);
    for (std::size_t j = 0; j < n; ++j) {
      const auto draw = random.bits((i << 20) + 1 + j);
      scores.push_back(delta * std::pow(draw[0] * 0x1p-32, 1.0 + bits[2] % 40));  // few near the top
    }
    weigh_row(Softmax{}, 0, scores, weights);
    EXPECT_LE(*std::max_element(weights.begin(), weights.end()),
              largest_possible_weight(static_cast<double>(n), delta) * (1.0 + 1e-12));
  }
}

TEST(WeightBound, HalfIsLostWhereItSays) {
  for (const double delta : {0.0, 1e-3, 1.0, 40.0, 300.0, 700.0})
    for (const double beta : {0.5, 1.0}) {
      const double n = std::pow(10.0, log10_half_lost_from(delta, beta));
      EXPECT_NEAR(largest_possible_weight(n, delta, beta), 0.5, 1e-12 * (1.0 + delta));
    }
}

TEST(WeightBound, StaysExactWhereExpOverflows) {
  for (const double delta : {1e3, 1e4, 4.2e4, 1e6, 1e7}) {
    EXPECT_NEAR(log10_half_lost_from(delta), delta / std::numbers::ln10, 1e-14 * delta);
    EXPECT_EQ(largest_possible_weight(1e9, delta), 1.0);
    EXPECT_EQ(largest_possible_weight(1e300, 1e4), 1.0);
  }
  EXPECT_DOUBLE_EQ(log10_half_lost_from(0.0), std::log10(2.0));
  EXPECT_DOUBLE_EQ(largest_possible_weight(8.0, 0.0), 0.125);
}

}  // namespace
}  // namespace sharpmax::test
