// Gradients of rows on every instruction set against the specification's in double.
//
// Every map has dS_j = s_j (dP_j - D) with D a mean of dP under weights t: errors of s and t within the
// bounds of support/row_bounds.h give the bound of dS. With A = max |dP|: |dP_j - D| <= 2 A.
#include <gtest/gtest.h>

#include <string>

#include "attention/rows/dispatch.h"
#include "support/attention_normalizers.h"
#include "support/row_bounds.h"
#include "support/settings.h"

namespace sharpmax::test {
namespace {

struct Slopes {
  Row s, s_error;           // beta not counted
  double mean_error = 0.0;  // of D / A
};

Slopes threshold_slopes(const ExactRow& row) {
  Slopes result{Row(row.weights.size()), Row(row.weights.size()), 0.0};
  const double power = (2.0 - row.rule.alpha) / (row.rule.alpha - 1.0);
  double sum = 0.0, error = 0.0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double root = std::pow(row.weights[j], row.rule.alpha - 1.0), reach = 4.0 * kFloatEpsilon;
    result.s[j] = row.weights[j] > 0.0 ? std::pow(root, power) : 0.0;
    if (row.weights[j] == 0.0 && row.scores[j] == -kInfinity) continue;
    const double above = power == 0.0 ? result.s[j] : std::pow(root + reach, power);
    const double below = power == 0.0 ? result.s[j] : std::pow(std::max(root - reach, 0.0), power);
    const bool out_of_reach =
        row.weights[j] == 0.0 &&
        (row.rule.alpha - 1.0) * row.rule.beta * row.scores[j] - row.facts.threshold < -reach;
    result.s_error[j] =
        out_of_reach ? 0.0 : above - below + kFloatEpsilon * kRowRoundings * (1.0 + power) * result.s[j];
    sum += result.s[j];
    error += result.s_error[j];
  }
  result.mean_error = 2.0 * error / sum;
  return result;
}

Slopes slopes_of(const ExactRow& row, const Row& weight_error) {
  if (row.rule.kind == RuleKind::threshold) return threshold_slopes(row);
  Slopes result{row.weights, weight_error, 0.0};
  double error = 0.0, sum = 0.0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    error += weight_error[j];
    sum += row.scores[j] == -kInfinity ? 0.0 : row.scores[j];
  }
  result.mean_error = error + kRowRoundings * kFloatEpsilon;
  Row soft(row.scores.size());
  weigh_row(Softmax{}, 0, row.scores, soft);
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const double e = row.scores[j], gap = row.largest - e;
    if (e == -kInfinity) {
      result.s[j] = result.s_error[j] = 0.0;
      continue;
    }
    double relative = kRowRoundings;
    switch (row.rule.kind) {
      case RuleKind::hard:
        result.s[j] = soft[j];
        relative += gap;
        break;
      case RuleKind::relu:
        result.s[j] = 1.0 / static_cast<double>(row.keys);
        break;
      case RuleKind::proportional:
        result.s[j] = 1.0 / sum;
        break;
      case RuleKind::softpick: {  // exp(e - shift) over its own sum, of which the largest has the most
        const double shift = std::max(row.largest, 0.0);
        double whole = 0.0;
        for (const double x : row.scores)
          whole += x == -kInfinity ? 0.0 : std::abs(std::expm1(x)) * std::exp(-shift);
        result.s[j] = whole > 0.0 ? std::exp(e - shift) / whole : 0.0;
        relative += std::abs(e - shift);
        break;
      }
      case RuleKind::stick_breaking:
        result.s[j] = 1.0 / (1.0 + std::exp(-e));
        relative += std::abs(e);
        break;
      default:
        result.s_error[j] += kRowRoundings * kFloatEpsilon * std::abs(result.s[j]);
        continue;
    }
    result.s_error[j] = kFloatEpsilon * relative * result.s[j] + weight_error[j] + kLeastWeight;
  }
  return result;
}

// sparsemax's slopes jump where its support ends: rows with a key nearer to that than float can tell.
bool undecided(const ExactRow& row) {
  if (row.rule.kind != RuleKind::threshold || row.rule.alpha != 2.0) return false;
  for (const double e : row.scores)
    if (std::abs(row.rule.beta * e - row.facts.threshold) <
        16.0 * kFloatEpsilon * (1.0 + std::abs(row.rule.beta * e)))
      return true;
  return false;
}

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
            4.0 * kFloatEpsilon * std::abs(d_scores[j]);
        ASSERT_LE(std::abs(gradient[place(j)] - d_scores[j]), bound)
            << "key " << j << " of " << keys << ": " << gradient[place(j)] << ", wanted " << d_scores[j];
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
