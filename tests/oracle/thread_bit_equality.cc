// The same bits for any number of threads: outputs, statistics and gradients, over every plan.
#include <gtest/gtest.h>

#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/attention_plain.h"

namespace sharpmax::test {
namespace {

struct Everything {
  std::vector<std::byte> out, query, key, value, bias;
  std::vector<std::uint64_t> statistics, parameters;
  bool operator==(const Everything&) const = default;
};

Everything run(AttentionProblem& problem, const AnyNormalizer& normalizer, int threads) {
  const AttentionCase& c = problem.attention_case();
  Buffer out = problem.make_out(c.out_type);
  AllStatistics statistics(c.batches, c.heads, c.queries, c.keys);
  GradientBuffers gradients(problem, normalizer, DType::float32);
  attend(problem.request, normalizer, out.output(), &statistics.view, {threads});
  attend_backward(problem.request, normalizer, problem.d_out().input(), gradients.view(), {}, {threads});
  std::vector<std::uint64_t> parameters;
  for (const double x : gradients.parameters) parameters.push_back(std::bit_cast<std::uint64_t>(x));
  return {out.bytes(),           gradients.query.bytes(), gradients.key.bytes(), gradients.value.bytes(),
          gradients.bias.bytes(), statistics.bits(),       parameters};
}

// softmax over every case; the others, which share its plans, over every third.
TEST(ThreadBitEquality, ResultsAreTheSameForAnyNumberOfThreads) {
  const std::vector<std::string> texts = {"softmax", "adaptive", "entropy_target", "entmax15", "stick_breaking", "linear", "own_softmax"};
  for (std::size_t t = 0; t < texts.size(); ++t) {
    const AnyNormalizer normalizer = normalizer_named(texts[t]);
    for (std::size_t i = 0; i < attention_cases().size(); ++i) {
      const AttentionCase& c = attention_cases()[i];
      if (t > 0 && i % 3 != t % 3) continue;
      if (normalizer.definition().needs_queries_and_keys && c.speaks_of_scores()) continue;
      SCOPED_TRACE(c.name + " under " + texts[t]);
      AttentionProblem problem(c);
      for_each_target([&](const std::string& target) {
        const Everything one = run(problem, normalizer, 1);
        for (const int threads : {2, 3, 8}) {
          EXPECT_TRUE(run(problem, normalizer, threads) == one) << threads << " threads on " << target;
        }
      });
    }
  }
}

}  // namespace
}  // namespace sharpmax::test
