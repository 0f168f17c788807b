// Gradients of rows on every instruction set against the specification's in double.
// How far they may be: support/slope_bounds.h. Parameters: row_parameters_against_oracle.cc.
#include <gtest/gtest.h>

#include <string>

#include "attention/rows/row.h"
#include "support/attention_normalizers.h"
#include "support/row_bounds.h"
#include "support/settings.h"
#include "support/slope_bounds.h"

namespace sharpmax::test {
namespace {

class RowGradientsAgainstOracle : public testing::TestWithParam<Setting> {};

TEST_P(RowGradientsAgainstOracle, AwkwardLengthsAndSpreads) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  const Definition& definition = normalizer.definition();
  if (definition.no_backward != nullptr &&
      !definition.no_backward(HeadParameters(normalizer.parameters(), 0)).empty())
    GTEST_SKIP() << "has no backward";
  for_each_seed(150, [&](Random& random) {
    const std::size_t keys = random.uniform() < 0.1 ? random.size(0, 3) : random.size(1, 300);
    Row scores = scores_for(normalizer, random.row(keys, random.log_uniform(1e-2, 1e2)));
    const bool masked = random.uniform() < 0.5;
    for (double& e : scores) e = masked && random.uniform() < 0.3 ? -kInfinity : static_cast<float>(e);
    Row d_weights = random.row(keys, 1.0), d_scores(keys);
    for (double& x : d_weights) x = static_cast<float>(x);
    const ExactRow exact(normalizer, scores);
    if (undecided(exact)) return;
    Row d_parameters(normalizer.parameters().size()), d_wanted(d_parameters);
    backward_row(normalizer, 0, exact.scores, exact.weights, d_weights, d_scores, d_wanted);
    const Row weight_error = weight_bounds(exact);
    const Slopes slopes = exact.empty() ? Slopes{Row(keys), Row(keys), 0.0} : slopes_of(exact, weight_error);
    double most = 0.0;
    for (const double x : d_weights) most = std::max(most, std::abs(x));
    const double beta = std::isfinite(exact.facts.temperature) ? std::abs(exact.facts.temperature) : 1.0;
    const double beta_error = temperature_slack(exact);
    const LeanBounds lean = lean_bounds(exact, weight_error, d_weights, most);
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      const std::size_t lanes = 2 * vector_lanes(), chunks = (keys + lanes - 1) / lanes, stride = 3 * lanes;
      std::vector<float> row(chunks * stride, -INFINITY), gradient(chunks * stride, 0.0f);
      const auto place = [&](std::size_t j) { return j / lanes * stride + j % lanes; };
      for (std::size_t j = 0; j < keys; ++j) {
        row[place(j)] = static_cast<float>(scores[j]);
        // What lies behind a mask must not matter.
        gradient[place(j)] = scores[j] == -kInfinity ? NAN : static_cast<float>(d_weights[j]);
      }
      RowWorkspace workspace(chunks * lanes);
      backward_row({.normalizer = &normalizer}, ScoreRow{row.data(), chunks, stride, lanes},
                   ScoreRow{gradient.data(), chunks, stride, lanes}, workspace, {});
      for (std::size_t j = 0; j < keys; ++j) {
        ASSERT_LE(std::abs(row[place(j)] - exact.weights[j]), weight_error[j]) << "weight of key " << j;
        const double bound =
            most * (beta * (2.0 * slopes.s_error[j] + std::abs(slopes.s[j]) * slopes.mean_error) +
                    2.0 * beta_error * std::abs(slopes.s[j])) +
            lean.d_scores[j] + 4.0 * kFloatEpsilon * std::abs(d_scores[j]);
        ASSERT_LE(std::abs(gradient[place(j)] - d_scores[j]), bound)
            << "key " << j << " of " << keys << ": " << gradient[place(j)] << ", expected " << d_scores[j];
      }
    });
  });
}

TEST_P(RowGradientsAgainstOracle, OneBadScorePoisonsTheRow) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  const Definition& definition = normalizer.definition();
  if (definition.no_backward != nullptr &&
      !definition.no_backward(HeadParameters(normalizer.parameters(), 0)).empty())
    GTEST_SKIP() << "has no backward";
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    const std::size_t size = 4 * vector_lanes();
    std::vector<float> row(size, 0.25f), gradient(size, 1.0f);
    row[size / 2] = NAN;
    RowWorkspace workspace(size);
    backward_row({.normalizer = &normalizer}, ScoreRow{row.data(), 1, size, size},
                 ScoreRow{gradient.data(), 1, size, size}, workspace, {});
    for (std::size_t j = 0; j < size; ++j)
      EXPECT_TRUE(std::isnan(row[j]) && std::isnan(gradient[j])) << "key " << j;
  });
}

INSTANTIATE_TEST_SUITE_P(EverySetting, RowGradientsAgainstOracle, testing::ValuesIn(all_settings()),
                         [](const auto& test) { return test_name(std::string(test.param.text)); });

}  // namespace
}  // namespace sharpmax::test
