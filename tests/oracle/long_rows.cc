// Rows of more than one share of keys: right by the oracle, the same for any number of threads, and folded share by
// share in every plan.
#include <gtest/gtest.h>

#include "attention/oracle/oracle.h"
#include "sharpmax/attention.h"
#include "sharpmax/fold.h"
#include "support/attention_normalizers.h"
#include "support/attention_tolerance.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kKeys = 2 * kShareKeys + 1000;

AttentionCase long_case(std::int64_t queries) {
  return {.name = "long rows", .queries = queries, .keys = kKeys, .feature = 4, .spread = 1.5};
}

std::vector<double> attend_to(const AttentionProblem& problem, const AnyNormalizer& normalizer, int threads = 1) {
  Buffer out = problem.make_out(DType::float32);
  attend(problem.request, normalizer, out.output(), nullptr, {.threads = threads});
  return out.values();
}

class LongRows : public testing::TestWithParam<std::string> {};

// Decode, and blocks of rows.
constexpr std::int64_t kQueries[] = {2, 17};

TEST_P(LongRows, ErrAtMostTwiceAsMuchAsPlainFloatForAnyNumberOfThreads) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  for (const std::int64_t queries : kQueries) {
    const AttentionProblem problem(long_case(queries));
    const ProblemSurvey survey(problem, normalizer, Decision::values);
    Buffer wanted(DType::float64, problem.out_shape());
    oracle::forward({problem.request, normalizer, problem.segments, wanted.output(), nullptr, 1});
    const auto error = [&](const std::vector<double>& found) {
      double worst = 0.0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        worst = std::max(worst, std::abs(found[i] - wanted.values()[i]));
      }
      return worst;
    };
    const double bound = 2.0 * error(plain_forward(problem, normalizer, DType::float32)) +
                         survey.magnitudes.floor_of(survey.magnitudes.out);
    for_each_target([&](const std::string& target) {
      const std::vector<double> found = attend_to(problem, normalizer);
      EXPECT_LE(error(found), bound) << queries << " queries on " << target;
      EXPECT_EQ(attend_to(problem, normalizer, 2), found) << queries << " queries on " << target;
    });
  }
}

// The one order of merging leaves out what is empty: with every other share masked, a row has the bits that its share has
// alone.
TEST_P(LongRows, WithOneShareUnmaskedHaveTheBitsOfThatShareAlone) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  if (normalizer.definition().needs_queries_and_keys) GTEST_SKIP() << "state is not cut into shares";
  for (const std::int64_t queries : kQueries) {
    AttentionProblem problem(long_case(queries));
    for (std::int64_t begin = 0; begin < kKeys; begin += kShareKeys) {
      const std::int64_t end = std::min(kKeys, begin + kShareKeys);
      std::vector<char> keep(static_cast<std::size_t>(kKeys), 0);
      std::fill(keep.begin() + begin, keep.begin() + end, 1);
      const auto* const mask = reinterpret_cast<const bool*>(keep.data());
      AttentionRequest alone = problem.request;
      alone.key.data = static_cast<const float*>(alone.key.data) + begin * alone.key.strides[2];
      alone.value.data = static_cast<const float*>(alone.value.data) + begin * alone.value.strides[2];
      alone.key.shape[2] = alone.value.shape[2] = end - begin;
      alone.mask = {mask + begin, {1, 1, 1, end - begin}};
      problem.request.mask = {mask, {1, 1, 1, kKeys}};
      for_each_target([&](const std::string& target) {
        Buffer wanted = problem.make_out(DType::float32);
        attend(alone, normalizer, wanted.output());
        EXPECT_EQ(attend_to(problem, normalizer), wanted.values()) << "share at " << begin << " on " << target;
      });
    }
  }
}

TEST_P(LongRows, RecordTheSameWhetherFoldedByShareOrKeptWhole) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  for (const std::int64_t queries : kQueries) {
    AttentionProblem problem(long_case(queries));
    const RowStatistics& all = problem.make_statistics()->view;  // support and top keys want whole rows
    RowStatistics few;
    AllStatistics* streamed = problem.make_statistics();
    each_row_statistic([&](const auto& statistic) {
      if (statistic.name() == "support" || statistic.name() == "score_spread" || statistic.name() == "first_weight") return;
      few.*statistic.view = streamed->view.*statistic.view;
    });
    Buffer out = problem.make_out(DType::float32);
    attend(problem.request, normalizer, out.output(), &all);
    attend(problem.request, normalizer, out.output(), &few);
    for (std::int64_t q = 0; q < queries; ++q) {
      EXPECT_EQ(few.peak_key(0, 0, q), all.peak_key(0, 0, q));
      // Weights are right to 1.2 ulp of the exponential, and each plan rounds the product of temperature and score once:
      // its error moves a weight by that much relative to itself.
      const double beta = std::isnan(all.temperature(0, 0, q)) ? 1.0 : all.temperature(0, 0, q);
      const double ulps = 8.0 + 2.0 * beta * all.score_spread(0, 0, q);
      const auto agree = [&](const char* name, double found, double wanted) {
        if (std::isnan(wanted)) {
          EXPECT_TRUE(std::isnan(found)) << name;
        } else {
          EXPECT_NEAR(found, wanted, ulps * kFloatEps * std::max(1.0, std::abs(wanted))) << name << " of row " << q;
        }
      };
      agree("entropy", few.entropy(0, 0, q), all.entropy(0, 0, q));
      agree("peak weight", few.peak_weight(0, 0, q), all.peak_weight(0, 0, q));
      agree("mass", few.mass(0, 0, q), all.mass(0, 0, q));
      agree("log-partition", few.log_partition(0, 0, q), all.log_partition(0, 0, q));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryPlan, LongRows,
                         testing::Values("softmax", "sink:c=5", "ssmax", "adaptive", "entropy_target", "entmax15",
                                         "sigmoid", "linear"),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
