// The published adaptive temperature: the code as printed, and what its polynomial really does.
#include <gtest/gtest.h>

#include <functional>

#include "support/row.h"

namespace sharpmax::test {
namespace {

// beta of a row with this entropy, through the rule the kernels use.
double temperature_at_entropy(double entropy) {
  static const AnyNormalizer adaptive = Adaptive{};
  const HeadParameters parameters(adaptive.parameters(), 0);
  const Survey survey{.max = 0.0, .tail = std::expm1(entropy), .moment = 0.0};
  return adaptive.definition().rule(parameters, 1.0).temperature(parameters, survey);
}

// As the paper prints it, entropy bias and all.
double published_temperature(const Row& row) {
  Row p = weigh(Softmax{}, row).weights;
  double entropy = 0.0;
  for (const double x : p) entropy -= x * std::log(x + 1e-9);
  if (!(entropy > 0.5)) return 1.0;
  double value = 0.0;
  for (const double c : {-0.037, 0.481, -2.3, 4.917, -1.791}) value = value * entropy + c;
  return std::max(value, 1.0);
}

TEST(AdaptiveLaws, ItAgreesWithThePublishedCodeUpToThatCodesBias) {
  double steepest = 0.0;  // of beta as a function of the entropy
  for (double h = 0.0; h < 8.0; h += 1e-3) {
    steepest =
        std::max(steepest, std::abs(temperature_at_entropy(h + 1e-3) - temperature_at_entropy(h)) / 1e-3);
  }
  for_each_seed(300, [&](Random& random) {
    const Row row = random.row(random.size(1, 3000), random.log_uniform(0.1, 6.0));
    // Each key's term is off by p ln(1 + 1e-9 / p) <= 1e-9.
    const double bias = 1e-9 * static_cast<double>(row.size());
    EXPECT_NEAR(weigh(Adaptive{}, row).facts.temperature, published_temperature(row),
                1.01 * steepest * bias + 1e-13);
  });
}

TEST(AdaptiveLaws, TheKernelsRuleIsTheSpecification) {
  const AnyNormalizer adaptive = Adaptive{};
  const HeadParameters parameters(adaptive.parameters(), 0);
  for_each_seed(100, [&](Random& random) {
    const Row row = random.row(random.size(1, 300), random.log_uniform(0.1, 6.0));
    EXPECT_NEAR(adaptive.definition().rule(parameters, 1.0).temperature(parameters, survey(row)),
                weigh(adaptive, row).facts.temperature, 1e-13);
  });
  const Survey poisoned = survey_of(kNoValue);
  EXPECT_TRUE(std::isnan(adaptive.definition().rule(parameters, 1.0).temperature(parameters, poisoned)));
}

TEST(AdaptiveLaws, ThePublishedPolynomialSharpensOnlyBetweenTwoEntropies) {
  const auto first_where = [](double from, double to, const std::function<bool(double)>& holds) {
    for (double h = from; h < to; h += 1e-5) {
      if (holds(h)) return h;
    }
    return to;
  };
  const auto sharpens = [](double h) { return temperature_at_entropy(h) > 1.0; };
  const double on = first_where(0.0, 8.0, sharpens);
  const double off = first_where(on, 8.0, [&](double h) { return !sharpens(h); });
  EXPECT_NEAR(on, 0.849, 5e-4);
  EXPECT_NEAR(off, 5.945, 5e-4);
  EXPECT_EQ(first_where(off, 14.0, sharpens), 14.0);  // and never again
  double best = 0.0, best_entropy = 0.0;
  for (double h = on; h < off; h += 1e-4) {
    if (temperature_at_entropy(h) > best) best = temperature_at_entropy(best_entropy = h);
  }
  EXPECT_NEAR(best, 2.421, 5e-4);
  EXPECT_NEAR(best_entropy, 4.41, 5e-3);
}

TEST(AdaptiveLaws, RowsOfMoreThanAbout382EqualWeightsArePlainSoftmax) {
  EXPECT_GT(weigh(Adaptive{}, Row(381, 0.0)).facts.temperature, 1.0);
  EXPECT_EQ(weigh(Adaptive{}, Row(383, 0.0)).facts.temperature, 1.0);
}

TEST(AdaptiveLaws, AMaskDoesNotTurnTheRuleOff) {
  Row row(40, 0.0);
  const double beta = weigh(Adaptive{}, row).facts.temperature;
  row.insert(row.begin(), 7, -kInfinity);
  EXPECT_GT(beta, 1.0);
  EXPECT_EQ(weigh(Adaptive{}, row).facts.temperature, beta);
}

}  // namespace
}  // namespace sharpmax::test
