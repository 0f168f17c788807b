// What a soft cap makes of scores at the edge: infinite ones, and those behind a mask.
#include <gtest/gtest.h>

#include <cmath>

#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/attention_plain.h"
#include "support/row.h"

namespace sharpmax::test {
namespace {

TEST(SoftCap, AnInfiniteScoreIsTheCapAndNeitherMasksNorPoisons) {
  constexpr double kCap = 1.5;
  for (const DType type : {DType::float64, DType::float32}) {
    for (const std::int64_t queries : {2, 20}) {  // decode and prefill
      for_each_target([&](const std::string& target) {
        SCOPED_TRACE(std::string(name_of(type)) + " on " + target);
        AttentionProblem problem({.name = "infinite",
                                  .queries = queries,
                                  .keys = 37,
                                  .feature = 1,
                                  .type = type,
                                  .soft_cap = kCap});
        problem.query().set({0, 0, 1, 0}, kInfinity);
        Buffer out = problem.make_out(type);
        attend(problem.request, Softmax{}, out.output());
        double wanted = 0.0, sum = 0.0;
        for (std::int64_t j = 0; j < 37; ++j) {
          const double weight = std::exp(std::copysign(kCap, problem.key().get({0, 0, j, 0})));
          sum += weight;
          wanted += weight * problem.value().get({0, 0, j, 0});
        }
        EXPECT_NEAR(out.get({0, 0, 1, 0}), wanted / sum, 37 * 0x1p-23);
        GradientBuffers gradients(problem, Softmax{}, type);
        attend_backward(problem.request, Softmax{}, problem.d_out().input(), gradients.view());
        EXPECT_LE(std::abs(gradients.query.get({0, 0, 1, 0})), 1e-30) << "a saturated score has no slope";
      });
    }
  }
}

TEST(SoftCap, WhatIsBehindAMaskLeavesNoTraceInAnyGradient) {
  for (const std::string text : {"softmax", "entmax15"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    for (const bool saving : {false, true}) {
      for_each_target([&](const std::string& target) {
        SCOPED_TRACE(text + (saving ? ", saved, on " : " on ") + target);
        AttentionProblem problem({.name = "masked",
                                  .queries = 20,
                                  .keys = 37,
                                  .feature = 16,
                                  .mask = Spread::per_key,
                                  .scale = 8.0,
                                  .soft_cap = 30.0});
        const auto gradients_of = [&] {
          Buffer out = problem.make_out(DType::float32);
          AllStatistics* statistics = problem.make_statistics();
          attend(problem.request, normalizer, out.output(), &statistics->view);
          Saved saved;
          if (saving) saved = {out.input(), statistics->view.log_partition, statistics->view.temperature};
          GradientBuffers gradients(problem, normalizer, DType::float32);
          attend_backward(problem.request, normalizer, problem.d_out().input(), gradients.view(), saved);
          return gradients.query.values();
        };
        const std::vector<double> clean = gradients_of();
        // Finite keys whose scores overflow both ways, to NaN.
        for (std::int64_t j = 0; j < 37; ++j) {
          if (problem.request.mask(0, 0, 0, j)) continue;
          for (std::int64_t c = 0; c < 16; ++c) problem.key().set({0, 0, j, c}, c % 2 == 0 ? 3e38 : -3e38);
        }
        EXPECT_EQ(gradients_of(), clean);
      });
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
