// Gradients of the kernels against the oracle's: every normalizer that has a backward, every
// instruction set. Rows too close to a decision get d_out = 0, so that they add nothing to anything.
#include <gtest/gtest.h>

#include "attention/oracle/oracle.h"
#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "support/attention_normalizers.h"
#include "support/attention_tolerance.h"

namespace sharpmax::test {
namespace {

double largest_slope_error(const std::vector<double>& found, const std::vector<double>& wanted) {
  double worst = 0.0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double error = std::abs(found[i] - wanted[i]);
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

bool backward_runs(const std::string& normalizer, std::size_t case_index) {
  return takes_case(normalizer, case_index, 4) || (normalizer == "softmax" && case_index % 2 == 0);
}

bool has_backward(const AnyNormalizer& normalizer) {
  try {
    check_backward(normalizer, "test");
  } catch (const Error&) {
    return false;
  }
  return true;
}

void silence_undecided_rows(AttentionProblem& problem, const ProblemSurvey& survey) {
  for (const RowVerdict& row : survey.rows) {
    if (row.decided) continue;
    for (std::int64_t c = 0; c < problem.out_shape()[3]; ++c) {
      problem.d_out().set({row.at.batch, row.at.head, row.at.row, c}, 0.0);
    }
  }
}

class BackwardAgainstOracle : public testing::TestWithParam<std::string> {};

TEST_P(BackwardAgainstOracle, ErrsAtMostTwiceAsMuchAsPlainFloat) {
  std::int64_t rows = 0, undecided = 0;
  for (std::size_t i = 0; i < attention_cases().size(); ++i) {
    const AttentionCase& c = attention_cases()[i];
    AnyNormalizer normalizer = normalizer_named(GetParam());
    const bool linear = normalizer.definition().needs_queries_and_keys;
    if (!backward_runs(GetParam(), i) || (linear && c.speaks_of_scores())) continue;
    if (c.heads > 2) normalizer = one_value_per_head(normalizer, c.heads);
    if (!has_backward(normalizer)) continue;
    SCOPED_TRACE(c.name + " under " + normalizer.text());

    const AnyNormalizer specification = specification_of(normalizer);
    AttentionProblem problem(c);
    silence_undecided_rows(problem, ProblemSurvey(problem, specification, Decision::slopes));
    const ProblemSurvey survey(problem, specification, Decision::slopes);
    rows += static_cast<std::int64_t>(survey.rows.size());
    undecided += survey.undecided();
    GradientBuffers wanted(problem, specification, DType::float64), plain(problem, specification, DType::float64);
    const Saved nothing;
    const AttentionGradients wanted_view = wanted.view();
    sharpmax::oracle::backward({problem.request, specification, problem.segments, problem.d_out().input(), wanted_view, nothing, 1});
    PlainBackward(problem, specification, plain).run();
    const std::vector<std::byte> inputs = problem.input_bytes();

    const Magnitudes& m = survey.magnitudes;
    const auto bound = [&](const std::vector<double>& p, const std::vector<double>& w, double magnitude) {
      return 2.0 * largest_slope_error(p, w) + m.floor_of(magnitude);
    };
    for_each_target([&](const std::string& target) {
      GradientBuffers found(problem, normalizer, DType::float32);
      attend_backward(problem.request, normalizer, problem.d_out().input(), found.view());
      const auto compare = [&](const char* what, const std::vector<double>& f, const std::vector<double>& p,
                               const std::vector<double>& w, double magnitude) {
        EXPECT_LE(largest_slope_error(f, w), bound(p, w, magnitude)) << what << " on " << target;
      };
      compare("query", found.query.values(), plain.query.values(), wanted.query.values(), m.query);
      compare("key", found.key.values(), plain.key.values(), wanted.key.values(), m.key);
      compare("value", found.value.values(), plain.value.values(), wanted.value.values(), m.value);
      compare("bias", found.bias.values(), plain.bias.values(), wanted.bias.values(), m.bias);
      if (!found.parameters.empty())
        compare("parameters", found.parameters, plain.parameters, wanted.parameters, m.parameters);
      EXPECT_TRUE(found.canaries_alive()) << target << " wrote beside a gradient";
    });
    EXPECT_EQ(inputs, problem.input_bytes()) << "an input was written to";
  }
  EXPECT_LE(undecided, rows / 20) << "too many rows were too close to a decision to be compared";
}

TEST_P(BackwardAgainstOracle, WhatTheForwardSavedChangesNothingBeyondRounding) {
  const AnyNormalizer normalizer = normalizer_named(GetParam());
  if (!has_backward(normalizer)) GTEST_SKIP() << "no backward";
  std::size_t cases = 0;
  for (const AttentionCase& c : attention_cases()) {
    if (c.name != "transposed, causal, grouped" && c.name != "soft cap, mask, bias, window") continue;
    ++cases;
    if (normalizer.definition().needs_queries_and_keys && c.speaks_of_scores()) continue;
    SCOPED_TRACE(c.name);
    const AnyNormalizer specification = specification_of(normalizer);
    AttentionProblem problem(c);
    silence_undecided_rows(problem, ProblemSurvey(problem, specification, Decision::slopes));
    const Magnitudes m = ProblemSurvey(problem, specification, Decision::slopes).magnitudes;
    for_each_target([&](const std::string& target) {
      Buffer out = problem.make_out(DType::float32);
      AllStatistics* statistics = problem.make_statistics();
      attend(problem.request, normalizer, out.output(), &statistics->view);
      const Saved saved{out.input(), statistics->view.log_partition, statistics->view.temperature};
      GradientBuffers with(problem, normalizer, DType::float32), without(problem, normalizer, DType::float32);
      attend_backward(problem.request, normalizer, problem.d_out().input(), with.view(), saved);
      attend_backward(problem.request, normalizer, problem.d_out().input(), without.view());
      EXPECT_LE(largest_slope_error(with.query.values(), without.query.values()), m.floor_of(m.query)) << target;
      EXPECT_LE(largest_slope_error(with.key.values(), without.key.values()), m.floor_of(m.key)) << target;
      EXPECT_LE(largest_slope_error(with.value.values(), without.value.values()), m.floor_of(m.value)) << target;
      EXPECT_LE(largest_slope_error(with.bias.values(), without.bias.values()), m.floor_of(m.bias)) << target;
      EXPECT_LE(largest_slope_error(with.parameters, without.parameters), m.floor_of(m.parameters)) << target;
    });
  }
  EXPECT_EQ(cases, 2u);
}

INSTANTIATE_TEST_SUITE_P(EveryNormalizer, BackwardAgainstOracle, testing::ValuesIn(normalizers_under_test()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
