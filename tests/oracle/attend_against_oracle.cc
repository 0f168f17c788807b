// Every normalizer on every instruction set over the awkward shapes: outputs of the kernels against
// the oracle's in double, within twice the error of plain float attention.
#include <gtest/gtest.h>

#include "attention/oracle/oracle.h"
#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/attention_tolerance.h"

namespace sharpmax::test {
namespace {

double largest_error(const std::vector<double>& found, const std::vector<double>& wanted,
                     const ProblemSurvey& survey) {
  const std::size_t width = survey.rows.empty() ? 0 : wanted.size() / survey.rows.size();
  double worst = 0.0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (!survey.rows[i / width].decided) continue;
    const double error = std::abs(found[i] - wanted[i]);
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

// All normalizers see every third case, softmax all of them: the shapes meet each kernel often.
bool runs(const std::string& normalizer, std::size_t case_index) {
  return normalizer == "softmax" || takes_case(normalizer, case_index, 3) || case_index < 2;
}

class AttendAgainstOracle : public testing::TestWithParam<std::string> {};

TEST_P(AttendAgainstOracle, ErrsAtMostTwiceAsMuchAsPlainFloat) {
  std::int64_t rows = 0, undecided = 0;
  for (std::size_t i = 0; i < attention_cases().size(); ++i) {
    const AttentionCase& c = attention_cases()[i];
    if (!runs(GetParam(), i)) continue;
    AnyNormalizer normalizer = normalizer_named(GetParam());
    const bool linear = normalizer.definition().needs_queries_and_keys;
    if (linear && c.speaks_of_scores()) continue;
    if (c.heads > 2) normalizer = one_value_per_head(normalizer, c.heads);
    SCOPED_TRACE(c.name + " under " + normalizer.text());

    AttentionProblem problem(c);
    const AnyNormalizer specification = specification_of(normalizer);
    const ProblemSurvey survey(problem, specification, Decision::values);
    rows += static_cast<std::int64_t>(survey.rows.size());
    undecided += survey.undecided();
    Buffer wanted(DType::float64, problem.out_shape());
    sharpmax::oracle::forward({problem.request, specification, problem.segments, wanted.output(), nullptr, 1});
    const std::vector<double> plain = plain_forward(problem, specification, c.out_type);
    const double bound = 2.0 * largest_error(plain, wanted.values(), survey) +
                         survey.magnitudes.floor_of(survey.magnitudes.out);
    const std::vector<std::byte> inputs = problem.input_bytes();

    for_each_target([&](const std::string& target) {
      Buffer out = problem.make_out(c.out_type);
      out.fill([](const Extents<4>&) { return -12345.5; });
      attend(problem.request, normalizer, out.output());
      EXPECT_LE(largest_error(out.values(), wanted.values(), survey), bound) << target;
      EXPECT_TRUE(out.canaries_alive()) << target << " wrote beside its output";
    });
    EXPECT_EQ(inputs, problem.input_bytes()) << "an input was written to";
  }
  EXPECT_LE(undecided, rows / 20) << "too many rows were too close to a decision to be compared";
}

INSTANTIATE_TEST_SUITE_P(EveryNormalizer, AttendAgainstOracle, testing::ValuesIn(normalizers_under_test()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
