// exp and log of the row kernels over the floats, against double.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "attention/rows/dispatch.h"
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
  // beta x rounds once where there is FMA, and otherwise by an eps of the product.
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

}  // namespace
}  // namespace sharpmax::test
