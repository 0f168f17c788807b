// Gradients of a row by the normalizer's parameters, on every instruction set, against the specification's in
// double: every learnable parameter, rows short and long, flat and sharp, masked or not.
//
// A kernel has the gradient by the numbers of the rule (beta, alpha, sink, offset, target), each a sum over
// the row of slopes times dP_j - D: support/slope_bounds.h bounds the errors of both.
#include <gtest/gtest.h>

#include <string>

#include "attention/rows/row.h"
#include "support/attention_normalizers.h"
#include "support/settings.h"
#include "support/slope_bounds.h"

namespace sharpmax::test {
namespace {

// p l^2 s(a l), as src/normalizer/softmax_map.cc has it.
double bend_of(double weight, double a) {
  if (!(weight > 0.0)) return 0.0;
  const double y = -a * std::log(weight);
  double series = 0.5, term = 0.5;
  for (int k = 3; k < 40 && y < 1.0; ++k) series += term *= y / k;
  return weight / (a * a) * (y < 1.0 ? y * y * series : std::expm1(y) - y);
}

RuleGradient rule_bounds(const ExactRow& row, const Row& weight_error, const Row& d_weights, double most) {
  const Slopes slopes = slopes_of(row, weight_error);
  const double eps = kRowRoundings * kFloatEpsilon, a = row.rule.alpha - 1.0;
  RuleGradient bounds;
  double mass = 0.0, heaviest = 0.0;
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (row.scores[j] == -kInfinity) continue;
    const double w = row.weights[j];
    const double slope =
        most * (2.0 * slopes.s_error[j] + std::abs(slopes.s[j]) * (slopes.mean_error + 2.0 * eps));
    bounds.beta += slope * (row.largest - row.scores[j]);
    bounds.offset += slope;
    mass += w;
    heaviest = std::max(heaviest, w);
    if (row.rule.kind != RuleKind::threshold || (w == 0.0 && slopes.s_error[j] == 0.0)) continue;
    const double bend = bend_of(w, a);
    // The slope, a power of the weight, errs by its logarithm; its difference to the weight is a quarter of
    // it.
    const double rounding = 4.0 * kFloatEpsilon * (kRowRoundings + (w > 0.0 ? -std::log(w) : 0.0)) * bend;
    const double error = std::max(std::abs(bend_of(w + weight_error[j], a) - bend),
                                  std::abs(bend_of(std::max(w - weight_error[j], 0.0), a) - bend)) +
                         rounding;
    bounds.alpha += most * (2.0 * error + bend * slopes.mean_error);
  }
  bounds.sink = heaviest * std::exp(-row.largest) * most * (slopes.mean_error + 2.0 * eps * mass);
  bounds.target = lean_bounds(row, weight_error, d_weights, most).target;
  return bounds;
}

// Of every parameter: the sum of what each number of the rule may be off, in absolute value.
Row parameter_bounds(const AnyNormalizer& normalizer, double keys, const RuleGradient& rule) {
  Row bounds(normalizer.parameters().size());
  const RuleGradient parts[] = {{.beta = rule.beta},
                                {.sink = rule.sink},
                                {.alpha = rule.alpha},
                                {.target = rule.target},
                                {.offset = rule.offset}};
  for (const RuleGradient& part : parts) {
    Row share(bounds.size());
    normalizer.definition().through_rule(HeadParameters(normalizer.parameters(), 0), keys, part, share);
    for (std::size_t p = 0; p < bounds.size(); ++p) bounds[p] += std::abs(share[p]);
  }
  return bounds;
}

Row kernel_gradients(const AnyNormalizer& normalizer, const Row& scores, const Row& d_weights) {
  const std::size_t keys = scores.size();
  const std::size_t lanes = 2 * vector_lanes(), chunks = (keys + lanes - 1) / lanes, stride = 3 * lanes;
  std::vector<float> row(chunks * stride, -INFINITY), gradient(chunks * stride, 0.0f);
  for (std::size_t j = 0; j < keys; ++j) {
    const std::size_t place = j / lanes * stride + j % lanes;
    row[place] = static_cast<float>(scores[j]);
    // What lies behind a mask must not matter.
    gradient[place] = scores[j] == -kInfinity ? NAN : static_cast<float>(d_weights[j]);
  }
  RowWorkspace workspace(chunks * lanes);
  Row d_parameters(normalizer.parameters().size());
  backward_row({.normalizer = &normalizer}, ScoreRow{row.data(), chunks, stride, lanes},
               ScoreRow{gradient.data(), chunks, stride, lanes}, workspace, d_parameters);
  return d_parameters;
}

std::vector<std::string> learnable_settings() {
  std::vector<std::string> texts = {"softmax:beta=1e-6",
                                    "softmax:beta=40",
                                    "ssmax:s=0,b=1e-3",
                                    "entropy_target:nats=3,gradient=full",
                                    "peak_target:weight=0.05,gradient=full",
                                    "entmax:alpha=1.02",
                                    "entmax:alpha=1.75",
                                    "entmax:alpha=1.98",
                                    "asentmax:alpha=1.5,delta=0.01,beta=1e-3",
                                    "top_k:k=17",
                                    "sink:c=1e6",
                                    "sigmoid:b=3"};
  for (const Setting& setting : all_settings()) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(setting.text);
    const Definition& definition = normalizer.definition();
    const bool refused = definition.no_backward != nullptr &&
                         !definition.no_backward(HeadParameters(normalizer.parameters(), 0)).empty();
    if (definition.through_rule != nullptr && !refused) texts.emplace_back(setting.text);
  }
  return texts;
}

class RowParametersAgainstOracle : public testing::TestWithParam<std::string> {};

TEST_P(RowParametersAgainstOracle, AwkwardLengthsAndSpreads) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  constexpr std::uint64_t kCases = 100;
  std::uint64_t compared = 0;
  for_each_seed(kCases, [&](Random& random) {
    const std::size_t keys = random.uniform() < 0.1 ? random.size(0, 3) : random.size(1, 300);
    Row scores = random.row(keys, random.log_uniform(1e-2, 1e2));
    const bool masked = random.uniform() < 0.5;
    const double far = random.uniform() < 0.3 ? random.uniform(-60.0, 60.0) : 0.0;
    for (double& e : scores) e = masked && random.uniform() < 0.3 ? -kInfinity : static_cast<float>(e + far);
    Row d_weights = random.row(keys, 1.0), d_scores(keys), wanted(normalizer.parameters().size());
    double most = 0.0;
    for (double& x : d_weights) most = std::max(most, std::abs(x = static_cast<float>(x)));
    const ExactRow exact(normalizer, scores);
    if (undecided(exact)) return;
    ++compared;
    backward_row(normalizer, 0, exact.scores, exact.weights, d_weights, d_scores, wanted);
    Row bounds(wanted.size());
    if (!exact.empty()) {
      const RuleGradient rule = rule_bounds(exact, weight_bounds(exact), d_weights, most);
      bounds = parameter_bounds(normalizer, static_cast<double>(exact.keys), rule);
    }
    for_each_target([&](const std::string& target) {
      const Row found = kernel_gradients(normalizer, scores, d_weights);
      for (std::size_t p = 0; p < wanted.size(); ++p) {
        ASSERT_LE(std::abs(found[p] - wanted[p]), bounds[p] + 4.0 * kFloatEpsilon * std::abs(wanted[p]))
            << normalizer.definition().parameters[p].name << " of " << keys << " keys on " << target << ": "
            << found[p] << ", expected " << wanted[p];
      }
    });
  });
  EXPECT_GE(5 * compared, 4 * scaled(kCases));
}

TEST_P(RowParametersAgainstOracle, APoisonedRowPoisonsWhatIsLearnableAndARowWithoutKeysLeavesNothing) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam());
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    Row scores(37, 0.25);
    scores[20] = NAN;
    const Row poisoned = kernel_gradients(normalizer, scores, Row(37, 1.0));
    const Row empty = kernel_gradients(normalizer, Row(37, -kInfinity), Row(37, 1.0));
    for (std::size_t p = 0; p < poisoned.size(); ++p) {
      EXPECT_EQ(std::isnan(poisoned[p]), normalizer.definition().parameters[p].learnable) << p;
      EXPECT_EQ(empty[p], 0.0) << p;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(EveryLearnable, RowParametersAgainstOracle, testing::ValuesIn(learnable_settings()),
                         [](const auto& test) { return test_name(test.param); });

TEST(RowParameters, EveryLearnableMemberSaysHowItsRuleMoves) {
  for (const Definition* definition : all_definitions()) {
    bool learnable = false;
    for (const ParameterSpec& parameter : definition->parameters)
      learnable = learnable || parameter.learnable;
    EXPECT_EQ(definition->through_rule != nullptr, learnable) << definition->name;
  }
}

}  // namespace
}  // namespace sharpmax::test
