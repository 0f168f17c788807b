// attend_backward and normalize_backward in float64 against central differences of the forward, for
// every normalizer with a derivative.
//
// A central difference D(h) errs by a multiple of h^2 and so D(2h) by four times as much: their
// difference bounds the truncation. Cancellation adds a few eps |f| / h.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "sharpmax/attention.h"
#include "sharpmax/error.h"
#include "support/attention_normalizers.h"
#include "support/attention_tolerance.h"

namespace sharpmax::test {
namespace {

constexpr double kStep = 0x1p-17;  // about eps^(1/3), where the two errors balance
constexpr double kCancellation = 64.0 * 0x1p-52 / kStep;  // of a loss of a few units

struct Slope {
  double value = 0.0;
  double doubt = 0.0;
};

// The derivative at 0 of a function of a shift.
template <class F>
Slope slope_of(const F& f) {
  const double near = (f(kStep) - f(-kStep)) / (2.0 * kStep);
  const double far = (f(2.0 * kStep) - f(-2.0 * kStep)) / (4.0 * kStep);
  return {near, std::abs(far - near) + kCancellation};
}

std::vector<AttentionCase> gradient_cases() {
  return {
      {.name = "gradient, plain", .queries = 3, .keys = 6, .feature = 4, .value_feature = 3, .type = DType::float64},
      {.name = "gradient, grouped, causal", .batches = 2, .heads = 4, .kv_heads = 2, .queries = 4, .keys = 5,
       .feature = 3, .type = DType::float64, .causal = Causal::bottom_right},
      {.name = "gradient, documents", .queries = 7, .keys = 7, .feature = 3, .type = DType::float64,
       .causal = Causal::bottom_right, .query_offsets = {0, 3, 7}, .key_offsets = {0, 3, 7}},
      {.name = "gradient, bias shared by heads", .batches = 2, .heads = 2, .kv_heads = 2, .queries = 3, .keys = 5,
       .feature = 3, .type = DType::float64, .bias = Spread::per_query_and_key},
      {.name = "gradient, bias of heads and keys", .heads = 2, .kv_heads = 1, .queries = 3, .keys = 6, .feature = 3,
       .type = DType::float64, .mask = Spread::whole, .bias = Spread::per_head_and_key},
      {.name = "gradient, soft cap", .heads = 2, .kv_heads = 1, .queries = 3, .keys = 6, .feature = 3,
       .type = DType::float64, .bias = Spread::per_query_and_key, .soft_cap = 0.8},
  };
}

double loss(AttentionProblem& problem, const AnyNormalizer& normalizer) {
  Buffer out(DType::float64, problem.out_shape());
  attend(problem.request, normalizer, out.output(), nullptr, {.threads = 1});
  const std::vector<double> o = out.values(), d = problem.d_out().values();
  double sum = 0.0;
  for (std::size_t i = 0; i < o.size(); ++i) sum += o[i] * d[i];
  return sum;
}

// hard passes softmax's gradient straight through: its own differences are 0.
bool is_straight_through(const AnyNormalizer& normalizer) { return normalizer.name() == "hard"; }

class AttentionGradientsTest : public testing::TestWithParam<std::string> {
 protected:
  void check_buffer(const char* what, AttentionProblem& problem, const AnyNormalizer& normalizer, Buffer& input,
                    const Buffer& gradient) {
    input.for_each([&](const Extents<4>& at, std::size_t) {
      const double x = input.get(at);
      if (std::abs(x) > 1e300) return;  // a masking bias has no derivative
      const Slope slope = slope_of([&](double shift) {
        input.set(at, x + shift);
        return loss(problem, normalizer);
      });
      input.set(at, x);
      EXPECT_NEAR(gradient.get(at), slope.value, slope.doubt)
          << what << " at " << at[0] << ", " << at[1] << ", " << at[2] << ", " << at[3];
    });
  }
};

AnyNormalizer with_value(const AnyNormalizer& normalizer, std::size_t parameter, std::size_t head, double value) {
  std::vector<AnyNormalizer::NamedParameter> parameters;
  for (std::size_t i = 0; i < normalizer.parameters().size(); ++i) {
    const auto given = normalizer.parameters()[i].values();
    std::vector<double> values(given.begin(), given.end());
    if (i == parameter) values[head] = value;
    parameters.emplace_back(normalizer.definition().parameters[i].name, Parameter(values));
  }
  return AnyNormalizer(normalizer.name(), std::span<const AnyNormalizer::NamedParameter>(parameters));
}

// Scores within a step of a kink make the difference quotient meaningless.
bool all_rows_decided(AttentionProblem& problem, const AnyNormalizer& normalizer) {
  const AnyNormalizer specification = specification_of(normalizer);
  for (const RowVerdict& row : ProblemSurvey(problem, specification, Decision::slopes).rows) {
    if (!row.decided) return false;
  }
  return true;
}

TEST_P(AttentionGradientsTest, AgreeWithFiniteDifferences) {
  const AnyNormalizer base = normalizer_named(GetParam());
  if (is_straight_through(base)) GTEST_SKIP() << "passes softmax's gradient straight through";
  for (const AttentionCase& c : gradient_cases()) {
    if (base.definition().needs_queries_and_keys && c.speaks_of_scores()) continue;
    const AnyNormalizer normalizer = one_value_per_head(base, c.heads);
    SCOPED_TRACE(c.name + " under " + normalizer.text());
    AttentionProblem problem(c);
    ASSERT_TRUE(all_rows_decided(problem, normalizer)) << "choose another seed: a row is on a kink";
    GradientBuffers gradients(problem, normalizer, DType::float64);
    attend_backward(problem.request, normalizer, problem.d_out().input(), gradients.view());
    check_buffer("query", problem, normalizer, problem.query(), gradients.query);
    check_buffer("key", problem, normalizer, problem.key(), gradients.key);
    check_buffer("value", problem, normalizer, problem.value(), gradients.value);
    if (c.bias != Spread::none) check_buffer("bias", problem, normalizer, problem.bias(), gradients.bias);
    for (std::size_t p = 0; p < normalizer.parameters().size(); ++p) {
      if (!normalizer.definition().parameters[p].learnable) continue;
      for (std::size_t h = 0; h < to_size(c.heads); ++h) {
        const double x = normalizer.parameters()[p].of_head(h);
        if (std::isnan(x)) continue;  // "as the row says": not a number to move
        const Slope slope =
            slope_of([&](double shift) { return loss(problem, with_value(normalizer, p, h, x + shift)); });
        EXPECT_NEAR(gradients.parameters[p * to_size(c.heads) + h], slope.value, slope.doubt)
            << normalizer.definition().parameters[p].name << " of head " << h;
      }
    }
  }
}

// Every member; those that choose a temperature with the full derivative, since the stopped one is
// not the derivative of anything.
std::vector<std::string> differentiable() {
  return {"softmax", "softmax:beta=-0.7", "adaptive:gradient=full", "entropy_target:gradient=full",
          "peak_target:gradient=full", "ssmax", "ssmax:s=0.4,b=0.3", "log_length:length=3", "sparsemax", "entmax15",
          "entmax", "entmax:alpha=1.2", "entmax:alpha=1.8", "asentmax", "asentmax:alpha=1.7,gamma=0.6", "top_k:k=2",
          "top_k:k=3,beta=1.5", "hard", "sink", "sink:c=2.5", "softpick", "sigmoid", "sigmoid:b=0.3",
          "stick_breaking", "self_adjust", "self_adjust:form=plain", "relu", "linear", "own_softmax", "own_sparsemax"};
}

TEST(AttentionGradientsList, HoldsEveryMemberOfTheFamily) {
  std::vector<std::string> names;
  for (const std::string& text : differentiable()) names.push_back(text.substr(0, text.find(':')));
  for (const NormalizerInfo& info : family()) {
    EXPECT_NE(std::find(names.begin(), names.end(), info.name), names.end()) << info.name;
  }
}

TEST(HardGradient, IsSoftmaxAtBetaOneForTheScoresAndItsOwnForTheValues) {
  AttentionProblem problem(gradient_cases()[0]);
  GradientBuffers hard(problem, Hard{}, DType::float64);
  attend_backward(problem.request, Hard{}, problem.d_out().input(), hard.view());
  GradientBuffers soft(problem, Softmax{}, DType::float64);
  attend_backward(problem.request, Softmax{}, problem.d_out().input(), soft.view());
  for (std::size_t i = 0; i < soft.query.values().size(); ++i) {
    EXPECT_NEAR(hard.query.values()[i], soft.query.values()[i], 1e-14);
  }
  AllStatistics statistics(1, 1, 3, 6);
  Buffer out(DType::float64, problem.out_shape());
  attend(problem.request, Hard{}, out.output(), &statistics.view);
  double d_value = 0.0, d_out = 0.0;
  for (const double x : hard.value.values()) d_value += x;
  for (const double x : problem.d_out().values()) d_out += x;
  EXPECT_NEAR(d_value, d_out, 1e-13) << "each row's gradient goes to one value as a whole";
}

TEST_P(AttentionGradientsTest, OfNormalizeAgreeWithFiniteDifferences) {
  const AnyNormalizer base = normalizer_named(GetParam());
  if (is_straight_through(base) || base.definition().needs_queries_and_keys) GTEST_SKIP();
  const AnyNormalizer normalizer = one_value_per_head(base, 2);
  Draw draw(7, 1);
  Buffer scores(DType::float64, {2, 2, 2, 6}), d_weights(DType::float64, {2, 2, 2, 6});
  scores.fill([&](const Extents<4>& at) { return at[3] == 4 ? -INFINITY : draw.normal(); });
  d_weights.fill([&](const Extents<4>&) { return draw.normal(); });
  Buffer d_scores(DType::float64, {2, 2, 2, 6});
  std::vector<double> d_parameters(normalizer.parameters().size() * 2);
  TensorView<double, 2> d_parameters_view;
  if (!d_parameters.empty()) d_parameters_view = {d_parameters.data(), {static_cast<std::int64_t>(d_parameters.size()) / 2, 2}};
  normalize_backward(scores.input(), normalizer, d_weights.input(), d_scores.output(), d_parameters_view);
  const auto loss_of = [&](const AnyNormalizer& n) {
    Buffer weights(DType::float64, scores.shape());
    normalize(scores.input(), n, weights.output(), nullptr, {.threads = 1});
    double sum = 0.0;
    const std::vector<double> w = weights.values(), d = d_weights.values();
    for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * d[i];
    return sum;
  };
  scores.for_each([&](const Extents<4>& at, std::size_t) {
    const double x = scores.get(at);
    if (std::isinf(x)) {
      EXPECT_EQ(d_scores.get(at), 0.0) << "a masked key has no gradient";
      return;
    }
    const Slope slope = slope_of([&](double shift) {
      scores.set(at, x + shift);
      return loss_of(normalizer);
    });
    scores.set(at, x);
    EXPECT_NEAR(d_scores.get(at), slope.value, slope.doubt) << at[0] << at[1] << at[2] << at[3];
  });
  for (std::size_t p = 0; p < normalizer.parameters().size(); ++p) {
    if (!normalizer.definition().parameters[p].learnable || std::isnan(normalizer.parameters()[p].of_head(0))) continue;
    for (std::size_t h = 0; h < 2; ++h) {
      const double x = normalizer.parameters()[p].of_head(h);
      const Slope slope = slope_of([&](double shift) { return loss_of(with_value(normalizer, p, h, x + shift)); });
      EXPECT_NEAR(d_parameters[p * 2 + h], slope.value, slope.doubt);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryNormalizer, AttentionGradientsTest, testing::ValuesIn(differentiable()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
