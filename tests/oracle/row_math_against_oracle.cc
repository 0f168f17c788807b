// exp, log and soft cap of the row kernels over the floats, against double.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "attention/rows/row.h"
#include "support/attention_normalizers.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

// Distance in units of the last place of the wanted value as a float.
double ulps(double found, double wanted) {
  int exponent = 0;
  std::frexp(wanted, &exponent);
  return std::abs(found - wanted) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

// Every `stride`-th float from `first` to `last`, both of one sign, by their bits.
std::vector<float> floats_between(float first, float last, std::uint32_t stride) {
  std::vector<float> all;
  for (std::uint32_t bits = std::bit_cast<std::uint32_t>(first); bits < std::bit_cast<std::uint32_t>(last);
       bits += stride)
    all.push_back(std::bit_cast<float>(bits));
  all.resize(all.size() / 64 * 64);  // whole vectors
  return all;
}

TEST(RowMath, ExponentialErrsByAtMostTwoUlpOverItsRange) {
  const std::vector<float> inputs = floats_between(-1e-30f, -87.3f, 97);
  for_each_target([&](const std::string& target) {
    std::vector<float> values = inputs;
    vector_exponential(values, 1.0);
    double worst = 0.0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      worst = std::max(worst, ulps(values[i], std::exp(static_cast<double>(inputs[i]))));
    EXPECT_LE(worst, 2.0) << target;
    RecordProperty("worst_ulp_" + target, std::to_string(worst));
  });
}

TEST(RowMath, ExponentialKeepsWhatIsSpecial) {
  for_each_target([](const std::string& target) {
    SCOPED_TRACE(target);
    const float nan = std::bit_cast<float>(0x7fc12345u);  // a payload whose bits could pass for an exponent
    for (const double beta : {1.0, 0.3, 2.5, 1e12}) {
      std::vector<float> values(64, 0.0f);
      values[0] = -INFINITY;
      values[1] = nan;
      values[2] = -1e30f;
      values[3] = -std::numeric_limits<float>::max();
      values[4] = std::bit_cast<float>(0xff812345u);
      vector_exponential(values, beta);
      EXPECT_EQ(values[0], 0.0f);
      EXPECT_TRUE(std::isnan(values[1]));
      EXPECT_EQ(values[2], 0.0f);
      EXPECT_EQ(values[3], 0.0f);
      EXPECT_TRUE(std::isnan(values[4]));
      EXPECT_EQ(values[5], 1.0f) << "exp(0) is exactly 1";
    }
  });
}

TEST(RowMath, TemperaturesBeyondFloatAreTakenExactly) {
  // beta x rounds once if there is FMA, and otherwise by an eps of the product.
  for_each_target([](const std::string& target) {
    for_each_seed(200, [&](Random& random) {
      const double beta = random.log_uniform(1e-3, 1e14);
      std::vector<float> inputs(64);
      for (float& x : inputs) x = static_cast<float>(-random.uniform(0.0, 80.0) / beta);
      std::vector<float> values = inputs;
      vector_exponential(values, beta);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double exponent = beta * inputs[i];
        EXPECT_LE(ulps(values[i], std::exp(exponent)), 2.0 + std::abs(exponent))
            << target << ", beta " << beta;
      }
    });
  });
}

TEST(RowMath, LogarithmErrsByAtMostTwoUlpOverItsRange) {
  const std::vector<float> inputs = floats_between(std::numeric_limits<float>::min(), 1e30f, 97);
  for_each_target([&](const std::string& target) {
    std::vector<float> values = inputs;
    vector_logarithm(values);
    double worst = 0.0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      worst = std::max(worst, ulps(values[i], std::log(static_cast<double>(inputs[i]))));
    EXPECT_LE(worst, 2.0) << target;
  });
}

TEST(RowMath, SoftCapErrsByAtMostTwelveRoundingsFromTheSmallestScoreToTheLargest) {
  for (const double cap : {1.0, 30.0, 50.0, 1e-3, 1e6}) {
    const std::vector<float> inputs = floats_between(1e-30f, 1e30f, 9973);
    for_each_target([&](const std::string& target) {
      std::vector<float> values = inputs, slopes(inputs.size());
      vector_soft_cap(values, slopes, cap);
      double worst = 0.0, worst_slope = 0.0;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const double x = static_cast<double>(inputs[i]) / cap;
        const double wanted = cap * std::tanh(x);
        worst = std::max(worst, std::abs(values[i] - wanted) / wanted);
        const double slope = 1.0 / (std::cosh(x) * std::cosh(x));
        if (x < 40.0) worst_slope = std::max(worst_slope, std::abs(slopes[i] - slope) / (slope * (1.0 + x)));
      }
      EXPECT_LE(worst, 12.0 * 0x1p-24) << target << ", cap " << cap;  // counted in docs/design/numerics.md
      // An eps of the exponent 2 x / c is a relative error of the slope.
      EXPECT_LE(worst_slope, 4.0 * 0x1p-23) << target << ", cap " << cap;
      RecordProperty("worst_in_roundings_" + target, std::to_string(worst * 0x1p24));
      RecordProperty("worst_slope_in_eps_" + target, std::to_string(worst_slope * 0x1p23));
    });
  }
}

TEST(RowMath, SoftCapKeepsWhatIsSpecial) {
  for_each_target([](const std::string& target) {
    for (const double cap : {30.0, 1e-300, 1e-42, 1e-38, 1e30, 1e300}) {
      SCOPED_TRACE(target + ", cap " + std::to_string(cap));
      std::vector<float> values(64, 0.0f), slopes(64);
      values[0] = -INFINITY;
      values[1] = std::bit_cast<float>(0x7fc12345u);
      values[2] = INFINITY;
      values[3] = std::numeric_limits<float>::max();
      values[4] = -1.0f;
      values[5] = 1.0f;
      values[7] = -0.0f;
      vector_soft_cap(values, slopes, cap);
      const float top = static_cast<float>(std::min(cap, 0x1p100));
      EXPECT_TRUE(std::isnan(values[1]));
      EXPECT_EQ(values[2], -values[0]);
      EXPECT_LE(std::abs(values[2] - top), 4e-7f * top + 1e-38f);
      EXPECT_EQ(values[3], values[2]) << "the largest score is as good as infinite";
      EXPECT_EQ(values[4], -values[5]) << "odd";
      EXPECT_NEAR(values[5], cap * std::tanh(1.0 / cap), 1e-6 * std::min(cap, 1.0) + 1e-38);
      EXPECT_EQ(values[6], 0.0f);
      EXPECT_EQ(slopes[6], 1.0f) << "no score is moved by as much as at 0";
      EXPECT_TRUE(std::signbit(values[7]));
      for (const std::size_t i : {0, 2, 3, 4, 5, 6, 7}) EXPECT_TRUE(slopes[i] >= 0.0f && slopes[i] <= 1.0f) << i;
    }
  });
}

}  // namespace
}  // namespace sharpmax::test
