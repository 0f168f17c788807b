// NaN, +inf and masks: a poisoned row is its own affair, a row without keys is zeros, and what lies
// behind a mask, a length or another document is never looked at.
#include <gtest/gtest.h>

#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/attention_plain.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

// Types of every path: the oracle's own and the kernels'.
constexpr DType kTypes[] = {DType::float64, DType::float32, DType::bfloat16, DType::float16};

std::vector<double> attend_values(AttentionProblem& problem, const AnyNormalizer& normalizer,
                                  const RowStatistics* statistics = nullptr) {
  Buffer out = problem.make_out(DType::float32);
  attend(problem.request, normalizer, out.output(), statistics);
  return out.values();
}

std::vector<double> row_of(const std::vector<double>& all, const AttentionProblem& problem, std::int64_t row) {
  const auto width = static_cast<std::ptrdiff_t>(problem.out_shape()[3]);
  return {all.begin() + row * width, all.begin() + (row + 1) * width};
}

class EveryNormalizer : public testing::TestWithParam<std::string> {};

TEST_P(EveryNormalizer, APoisonedQueryPoisonsItsOwnRowAndNoOther) {
  const AnyNormalizer normalizer = normalizer_named(GetParam());
  for (const DType type : kTypes) {
    for (const std::int64_t queries : {3, 20}) {  // decode and prefill
      for_each_target([&](const std::string& target) {
        SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
        AttentionProblem problem({.name = "poison", .queries = queries, .keys = 37, .feature = 16, .type = type});
        // Without statistics and with them: a row may take another plan, whose bits are its own.
        const std::vector<double> plain_before = attend_values(problem, normalizer);
        AllStatistics* statistics = problem.make_statistics();
        const std::vector<double> before = attend_values(problem, normalizer, &statistics->view);
        problem.query().set({0, 0, 1, 5}, kNaN);
        const std::vector<double> plain_after = attend_values(problem, normalizer);
        const std::vector<double> after = attend_values(problem, normalizer, &statistics->view);
        for (std::int64_t q = 0; q < queries; ++q) {
          if (q == 1) continue;
          EXPECT_EQ(row_of(after, problem, q), row_of(before, problem, q)) << "row " << q;
          EXPECT_EQ(row_of(plain_after, problem, q), row_of(plain_before, problem, q)) << "row " << q;
        }
        for (const double x : row_of(plain_after, problem, 1)) EXPECT_TRUE(std::isnan(x));
        for (const double x : row_of(after, problem, 1)) EXPECT_TRUE(std::isnan(x));
        EXPECT_TRUE(std::isnan(statistics->view.entropy(0, 0, 1)));
        EXPECT_TRUE(std::isnan(statistics->view.log_partition(0, 0, 1)));
        EXPECT_TRUE(std::isnan(statistics->view.mass(0, 0, 1)));
        EXPECT_EQ(statistics->view.peak_key(0, 0, 1), -1);
        EXPECT_FALSE(std::isnan(statistics->view.entropy(0, 0, 0)));
      });
    }
  }
}

TEST_P(EveryNormalizer, APoisonedKeyPoisonsOnlyTheRowsThatSeeIt) {
  const AnyNormalizer normalizer = normalizer_named(GetParam());
  for (const DType type : kTypes) {
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
      AttentionProblem problem({.name = "poisoned key", .queries = 33, .keys = 33, .feature = 16, .type = type,
                                .causal = Causal::bottom_right});
      const std::vector<double> before = attend_values(problem, normalizer);
      problem.key().set({0, 0, 20, 3}, kNaN);
      const std::vector<double> after = attend_values(problem, normalizer);
      for (std::int64_t q = 0; q < 20; ++q) EXPECT_EQ(row_of(after, problem, q), row_of(before, problem, q)) << q;
      for (std::int64_t q = 20; q < 33; ++q) EXPECT_TRUE(std::isnan(row_of(after, problem, q)[0])) << q;
    });
  }
}

TEST_P(EveryNormalizer, WhatIsMaskedOrPastALengthIsNeverLookedAt) {
  const AnyNormalizer normalizer = normalizer_named(GetParam());
  for (const DType type : kTypes) {
    for (const std::int64_t queries : {1, 20}) {
      for_each_target([&](const std::string& target) {
        SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
        AttentionProblem problem({.name = "lengths", .queries = queries, .keys = 37, .feature = 16, .type = type,
                                  .key_lengths = {29}});
        const std::vector<double> before = attend_values(problem, normalizer);
        for (std::int64_t key = 29; key < 37; ++key) {
          problem.key().set({0, 0, key, 0}, key % 2 == 0 ? kNaN : kInfinity);
          problem.value().set({0, 0, key, 0}, kNaN);
        }
        EXPECT_EQ(attend_values(problem, normalizer), before) << "past the length";

        AttentionProblem masked({.name = "masked", .queries = queries, .keys = 37, .feature = 16, .type = type,
                                 .mask = Spread::per_key});
        const std::vector<double> clean = attend_values(masked, normalizer);
        for (std::int64_t key = 0; key < 37; ++key) {
          if (!masked.request.mask(0, 0, 0, key)) masked.key().set({0, 0, key, 2}, kNaN);
        }
        EXPECT_EQ(attend_values(masked, normalizer), clean) << "behind the mask";
      });
    }
  }
}

TEST_P(EveryNormalizer, ARowWithoutKeysIsZerosWithAllItSaysOfItself) {
  const AnyNormalizer normalizer = normalizer_named(GetParam());
  for (const DType type : kTypes) {
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
      // More queries than keys: the first eleven see nothing.
      AttentionProblem problem({.name = "empty rows", .queries = 40, .keys = 29, .feature = 16, .type = type,
                                .causal = Causal::bottom_right});
      AllStatistics* owned = problem.make_statistics();
      const RowStatistics& s = owned->view;
      const std::vector<double> out = attend_values(problem, normalizer, &s);
      for (std::int64_t q = 0; q < 11; ++q) {
        for (const double x : row_of(out, problem, q)) EXPECT_EQ(x, 0.0);
        EXPECT_EQ(s.log_partition(0, 0, q), -kInfinity);
        EXPECT_EQ(s.peak_key(0, 0, q), -1);
        each_row_statistic([&]<class T>(const RowStatistic<T>& statistic) {
          const std::string_view name = statistic.name();
          if (name == "log_partition" || name == "peak_key" || name == "temperature" || name == "threshold") return;
          EXPECT_EQ((s.*statistic.view)(0, 0, q), T{0}) << name;
        });
        EXPECT_EQ(s.top_keys(0, 0, q, 0), -1);
        EXPECT_EQ(s.top_weights(0, 0, q, 0), 0.0);
        EXPECT_EQ(s.gap_counts(0, 0, q, 7), 0);
      }
      EXPECT_EQ(s.top_keys(0, 0, 11, 0), 0);
      EXPECT_EQ(s.top_keys(0, 0, 11, 1), -1) << "one key only";
    });
  }
}

TEST_P(EveryNormalizer, RowsWithoutKeysSendNoGradientEvenOfNonsense) {
  const AnyNormalizer normalizer = normalizer_named(GetParam());
  for (const DType type : {DType::float64, DType::float32}) {
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
      AttentionProblem problem({.name = "empty rows backward", .queries = 40, .keys = 29, .feature = 16, .type = type,
                                .causal = Causal::bottom_right});
      for (std::int64_t q = 0; q < 11; ++q) problem.d_out().set({0, 0, q, 0}, kNaN);
      GradientBuffers gradients(problem, normalizer, DType::float32);
      attend_backward(problem.request, normalizer, problem.d_out().input(), gradients.view());
      for (const Buffer* g : {&gradients.query, &gradients.key, &gradients.value}) {
        for (const double x : g->values()) EXPECT_TRUE(std::isfinite(x));
      }
      for (std::int64_t c = 0; c < 16; ++c) EXPECT_EQ(gradients.query.get({0, 0, 3, c}), 0.0);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(PoisonedAndMaskedRows, EveryNormalizer, testing::ValuesIn([] {
                           std::vector<std::string> names = own_rules();
                           for (const NormalizerInfo& member : family()) names.emplace_back(member.name);
                           return names;
                         }()),
                         [](const auto& test) { return test_name(test.param); });

TEST(MaskingBias, AtOrBelowHalfTheLowestOfItsTypeIsAMask) {
  for (const DType type : kTypes) {
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
      AttentionProblem problem({.name = "bias", .queries = 5, .keys = 20, .feature = 16, .type = type});
      Buffer bias(type, {1, 1, 1, 20});
      bias.fill([&](const Extents<4>& at) { return at[3] == 7 ? mask_bias(type) : at[3] == 9 ? -kInfinity : 0.0; });
      problem.request.bias = bias.input();
      AllStatistics* statistics = problem.make_statistics();
      problem.key().set({0, 0, 7, 0}, kNaN);  // masked: not looked at
      const std::vector<double> out = attend_values(problem, Softmax{}, &statistics->view);
      for (const double x : out) EXPECT_TRUE(std::isfinite(x));
      EXPECT_EQ(statistics->view.support(0, 0, 0), 18);
      EXPECT_EQ(statistics->view.column_mass(0, 0, 7), 0.0);
      EXPECT_EQ(statistics->view.column_mass(0, 0, 9), 0.0);
    });
  }
}

}  // namespace
}  // namespace sharpmax::test
