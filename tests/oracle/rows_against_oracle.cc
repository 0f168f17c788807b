// Every rule kind on every instruction set over awkward rows: weights and what is recorded of them
// against the specification in double, within derived bounds (support/row_bounds.h).
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "attention/rows/row.h"
#include "sharpmax/machine.h"
#include "sharpmax/statistics.h"
#include "support/attention_normalizers.h"
#include "support/row_bounds.h"
#include "support/settings.h"

namespace sharpmax::test {
namespace {

constexpr std::size_t kTop = 5;

enum class Arrangement { contiguous, tiles };

// A row in the kernels' layout, its outcome, and whether they wrote between the tiles.
struct KernelRow {
  KernelRow(const Row& scores, Arrangement arrangement, float padding = -INFINITY)
      : lanes(arrangement == Arrangement::tiles ? 2 * vector_lanes() : vector_lanes()),
        stride(arrangement == Arrangement::tiles ? 6 * lanes : lanes),
        chunks((scores.size() + lanes - 1) / lanes),
        data(chunks * stride + lanes, kCanary),
        keys(scores.size()) {
    for (std::size_t i = 0; i < chunks * lanes; ++i)
      at(i) = i < keys ? static_cast<float>(scores[i]) : padding;
  }
  float& at(std::size_t i) { return data[i / lanes * stride + i % lanes]; }
  ScoreRow view() { return {data.data(), chunks, stride, lanes}; }
  bool padding_is_zero() {
    for (std::size_t i = keys; i < chunks * lanes; ++i)
      if (at(i) != 0.0f) return false;
    return true;
  }
  bool canaries_alive() const {
    for (std::size_t i = 0; i < data.size(); ++i)
      if ((i / stride >= chunks || i % stride >= lanes) && data[i] != kCanary) return false;
    return true;
  }

  static constexpr float kCanary = -12345.5f;
  std::size_t lanes, stride, chunks;
  std::vector<float> data;
  std::size_t keys;
};

struct Outcome {
  Outcome() {
    outcome.top_keys = top_keys;
    outcome.top_weights = top_weights;
    outcome.gap_counts = gap_counts;
  }
  Outcome(const Outcome&) = delete;
  std::int64_t top_keys[kTop];
  double top_weights[kTop];
  std::int64_t gap_counts[kGapOctaves.size()];
  RowOutcome outcome;
};

constexpr std::int64_t kFirstKey = 1000;
const RowWishes kEverything{.entropy = true, .peak = true, .peak_key = true, .support = true, .spread = true, .first = true,
                            .top = kTop, .gaps = kGapOctaves};

void expect_weights(const ExactRow& exact, const Row& bounds, KernelRow& row, float scale) {
  std::size_t worst = 0;
  double worst_excess = -kInfinity;
  for (std::size_t j = 0; j < row.keys; ++j) {
    const double error = std::abs(static_cast<double>(scale * row.at(j)) - exact.weights[j]);
    const double excess = std::isnan(error) ? kInfinity : error - bounds[j];
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = j;
    }
  }
  EXPECT_LE(worst_excess, 0.0) << "key " << worst << " has weight " << scale * row.at(worst) << ", expected "
                               << exact.weights[worst] << " within " << bounds[worst] << ", score "
                               << exact.scores[worst] << " of largest " << exact.largest << ", temperature "
                               << exact.facts.temperature;
}

void expect_near(double found, double wanted, double bound, const char* what) {
  if (std::isnan(wanted) || std::isinf(wanted)) {
    EXPECT_TRUE(std::isnan(wanted) ? std::isnan(found) : found == wanted)
        << what << " is " << found << ", expected " << wanted;
    return;
  }
  EXPECT_LE(std::abs(found - wanted), bound) << what << " is " << found << ", expected " << wanted;
}

void expect_facts(const ExactRow& exact, const RowOutcome& out) {
  const double slack = temperature_slack(exact), beta = exact.facts.temperature;
  if (slack > beta) return;  // ties just reach the target: any higher temperature gives the same weights
  expect_near(out.facts.temperature, beta, 2.0 * slack + 1e-5 * std::abs(beta), "temperature");
  const double size = std::isfinite(beta) ? std::abs(beta * exact.largest) + 1.0 : 1.0;
  expect_near(
      out.facts.log_partition, exact.facts.log_partition,
      (kFloatEpsilon * kRowRoundings + 1e-5 * (slack > 0.0 || exact.rule.kind == RuleKind::surveyed)) * size +
          2.0 * slack * std::abs(exact.largest),
      "log_partition");
  double tau_error = 0.0;  // of the peak's own root
  if (exact.rule.kind == RuleKind::threshold)
    tau_error = 8.0 * kFloatEpsilon * (1.0 + std::abs(exact.facts.threshold));
  expect_near(out.facts.threshold, exact.facts.threshold, tau_error, "threshold");
}

void expect_statistics(const ExactRow& exact, const Row& bounds, KernelRow& row, const Outcome& found) {
  const RowOutcome& out = found.outcome;
  const StatisticBounds slack = statistic_bounds(exact, bounds);
  double mass = 0.0, entropy = 0.0;
  std::size_t peak = row.keys;
  std::int64_t support = 0, doubtful = 0;
  for (std::size_t j = 0; j < row.keys; ++j) {
    mass += exact.weights[j];
    if (exact.weights[j] == 0.0 && bounds[j] == 0.0) continue;
    (exact.weights[j] > bounds[j] ? support : doubtful) += 1;
    if (exact.weights[j] > 0.0 && (peak == row.keys || exact.weights[j] > exact.weights[peak])) peak = j;
  }
  expect_near(out.mass, mass, slack.mass, "mass");
  EXPECT_GE(out.support, support);
  EXPECT_LE(out.support, support + doubtful);
  if (mass <= static_cast<double>(row.keys) * kLeastWeight) {
    EXPECT_EQ(out.peak_key, -1);
    return;
  }
  double rest = 0.0;
  for (std::size_t j = 0; j < row.keys; ++j) {
    if (j == peak || exact.weights[j] < mass * kLeastWeight) continue;
    entropy -= exact.weights[j] / mass * std::log(exact.weights[j] / mass);
    rest += exact.weights[j];
  }
  entropy += exact.weights[peak] / mass * std::log1p(rest / exact.weights[peak]);
  expect_near(out.entropy, entropy, slack.entropy, "entropy");
  expect_near(out.peak_weight, exact.weights[peak] / mass, (slack.mass + bounds[peak]) / mass, "peak_weight");
  const auto key = static_cast<std::size_t>(out.peak_key - kFirstKey);
  ASSERT_LT(key, row.keys);
  EXPECT_GE(exact.weights[key] + bounds[key] + bounds[peak], exact.weights[peak]) << "peak_key " << key;
  if (exact.weights[key] == exact.weights[peak]) {
    EXPECT_LE(peak, key) << "of equal weights the lowest key";
  }
}

void expect_top(const ExactRow& exact, const Row& bounds, KernelRow& row, const Outcome& found) {
  std::vector<std::size_t> order;
  for (std::size_t j = 0; j < row.keys; ++j)
    if (exact.scores[j] != -kInfinity) order.push_back(j);
  const std::size_t there = std::min(kTop, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(there), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return exact.weights[a] > exact.weights[b] ||
                             (exact.weights[a] == exact.weights[b] && a < b);
                    });
  for (std::size_t i = 0; i < kTop; ++i) {
    if (i >= there) {
      EXPECT_EQ(found.top_keys[i], -1);
      EXPECT_EQ(found.top_weights[i], 0.0);
      continue;
    }
    const auto key = static_cast<std::size_t>(found.top_keys[i] - kFirstKey);
    ASSERT_LT(key, row.keys) << "top key " << i;
    EXPECT_EQ(found.top_weights[i], static_cast<double>(found.outcome.scale) * row.at(key));
    // Another key only where float cannot tell the two apart.
    if (key != order[i]) {
      EXPECT_LE(std::abs(exact.weights[key] - exact.weights[order[i]]), bounds[key] + bounds[order[i]])
          << "top key " << i << " is " << key << ", expected " << order[i];
    }
  }
}

void expect_gaps(const ExactRow& exact, const Outcome& found) {
  for (std::size_t i = 0; i < kGapOctaves.size(); ++i) {
    std::int64_t count = 0;
    for (const double e : exact.scores) count += e != -kInfinity && exact.largest - e <= kGapOctaves[i];
    EXPECT_EQ(found.gap_counts[i], exact.empty() ? 0 : count) << "gap " << kGapOctaves[i];
  }
}

void check(const AnyNormalizer& normalizer, const ExactRow& exact, const Row& bounds,
           Arrangement arrangement) {
  KernelRow row(exact.scores, arrangement), bare(exact.scores, arrangement);
  RowWorkspace workspace(row.chunks * row.lanes);
  const RowTask task{.normalizer = &normalizer, .first_key = kFirstKey};
  Outcome found, unasked;
  resolve_row(task, kEverything, row.view(), workspace, found.outcome);
  resolve_row({.normalizer = &normalizer, .keys = static_cast<std::int64_t>(exact.keys)}, {}, bare.view(),
              workspace, unasked.outcome);
  EXPECT_TRUE(row.canaries_alive());
  if (exact.empty()) {
    EXPECT_EQ(found.outcome.scale, 0.0f);
    EXPECT_EQ(found.outcome.facts.log_partition, -kInfinity);
    EXPECT_TRUE(row.padding_is_zero());
    expect_gaps(exact, found);
    return;
  }
  EXPECT_TRUE(row.padding_is_zero() && bare.padding_is_zero());
  expect_weights(exact, bounds, row, found.outcome.scale);
  expect_weights(exact, bounds, bare, unasked.outcome.scale);
  expect_facts(exact, found.outcome);
  expect_gaps(exact, found);
  if (normalizer.text() == "self_adjust:form=plain") return;  // weights of both signs: no distribution
  expect_statistics(exact, bounds, row, found);
  expect_top(exact, bounds, row, found);
}

enum class Mask { none, scattered, prefix, all_but_one, all };

Row make_scores(Random& random, std::size_t keys, double spread, Mask mask, const AnyNormalizer& normalizer) {
  Row row = scores_for(normalizer, random.row(keys, spread));
  const std::size_t spared = keys > 0 ? random.size(0, keys - 1) : 0;
  for (std::size_t j = 0; j < keys; ++j) {
    row[j] = static_cast<float>(row[j]);
    const bool masked = mask == Mask::all || (mask == Mask::all_but_one && j != spared) ||
                        (mask == Mask::prefix && j < keys / 3) ||
                        (mask == Mask::scattered && random.uniform() < 0.4);
    if (masked) row[j] = -kInfinity;
  }
  return row;
}

Row as_floats(Row row) {
  for (double& e : row) e = static_cast<float>(e);
  return row;
}

class RowsAgainstOracle : public testing::TestWithParam<Setting> {};

TEST_P(RowsAgainstOracle, AwkwardLengthsSpreadsAndMasks) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  std::uint64_t seed = 0;
  for (const std::size_t keys : {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 67, 127, 257, 1009}) {
    for (const double spread : {1e-3, 0.3, 1.0, 8.0, 1e2, 1e4}) {
      for (const Mask mask : {Mask::none, Mask::scattered, Mask::prefix, Mask::all_but_one, Mask::all}) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << keys << " keys, spread " << spread
                                        << ", mask " << static_cast<int>(mask));
        Random random(seed++);
        const ExactRow exact(normalizer, make_scores(random, keys, spread, mask, normalizer));
        const Row bounds = weight_bounds(exact);
        for_each_target([&](const std::string& target) {
          SCOPED_TRACE(target);
          check(normalizer, exact, bounds, Arrangement::contiguous);
          check(normalizer, exact, bounds, Arrangement::tiles);
        });
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(RowsAgainstOracle, AMillionKeys) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  const Rule rule = normalizer.definition().rule(HeadParameters(normalizer.parameters(), 0), 1e6);
  if (rule.kind == RuleKind::specification) GTEST_SKIP() << "no kernel of its own";
  for (const double spread : {1e-3, 1.0, 1e4}) {
    SCOPED_TRACE(testing::Message() << "spread " << spread);
    Random random(77);
    const ExactRow exact(normalizer, as_floats(scores_for(normalizer, random.row(1'000'000, spread))));
    const Row bounds = weight_bounds(exact);
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      check(normalizer, exact, bounds, Arrangement::contiguous);
    });
  }
}

TEST_P(RowsAgainstOracle, ManyTies) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  for_each_seed(60, [&](Random& random) {
    Row scores = random.row(random.size(1, 300), 1.0);
    for (double& e : scores) e = std::round(2.0 * e) / 2.0;
    if (random.uniform() < 0.3) std::fill(scores.begin(), scores.end(), scores[0]);
    const ExactRow exact(normalizer, as_floats(scores_for(normalizer, scores)));
    const Row bounds = weight_bounds(exact);
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      check(normalizer, exact, bounds, Arrangement::tiles);
    });
  });
}

TEST_P(RowsAgainstOracle, OneBadScorePoisonsTheRow) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  for (const double bad : {kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t at : {0, 7, 40, 99}) {
      for (const double others : {1.0, 0.25, -kInfinity}) {  // of all sorts, all tied, all masked
        Random random(at);
        Row scores = random.row(100, 2.0);
        if (others != 1.0) std::fill(scores.begin(), scores.end(), others);
        scores[at] = bad;
        for_each_target([&](const std::string& target) {
          SCOPED_TRACE(testing::Message() << target << ", " << bad << " at " << at << ", others " << others);
          KernelRow row(scores, Arrangement::contiguous);
          RowWorkspace workspace(row.chunks * row.lanes);
          Outcome found;
          resolve_row({.normalizer = &normalizer, .first_key = kFirstKey}, kEverything, row.view(), workspace,
                      found.outcome);
          EXPECT_TRUE(std::isnan(found.outcome.scale));
          EXPECT_TRUE(std::isnan(found.outcome.mass) && std::isnan(found.outcome.entropy) &&
                      std::isnan(found.outcome.peak_weight) && std::isnan(found.outcome.facts.log_partition));
          EXPECT_EQ(found.outcome.peak_key, -1);
          EXPECT_EQ(found.outcome.support, 0);
          EXPECT_EQ(found.top_keys[0], -1);
          EXPECT_TRUE(std::isnan(found.top_weights[0]));
          EXPECT_EQ(found.gap_counts[7], 0);
        });
      }
    }
  }
}

// What resolve_rows hands out, row by row.
struct Handed final : RowSink {
  void take(std::size_t row, const RowOutcome& outcome) override {
    EXPECT_EQ(row, scales.size());
    scales.push_back(outcome.scale);
    temperatures.push_back(outcome.facts.temperature);
    entropies.push_back(outcome.entropy);
  }
  std::vector<float> scales;
  std::vector<double> temperatures, entropies;
};

template <class Number>
bool same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Number)) == 0;
}

TEST_P(RowsAgainstOracle, RowsTogetherHaveTheBitsThatEachHasAlone) {
  const AnyNormalizer normalizer = AnyNormalizer::parse(GetParam().text);
  constexpr std::size_t kRows = 37, kLongest = 700;
  for_each_seed(5, [&](Random& random) {
    std::vector<Row> scores;
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto mask = static_cast<Mask>(random.size(0, 4));
      Row row = make_scores(random, random.size(1, kLongest), std::pow(10.0, random.uniform() * 4 - 2), mask, normalizer);
      if (r % 5 == 1) std::fill(row.begin(), row.end(), 1.25);  // ties
      if (r % 9 == 4) row[row.size() / 2] = std::numeric_limits<double>::quiet_NaN();
      scores.push_back(std::move(row));
    }
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      RowWorkspace workspace(kLongest + 2 * vector_lanes());
      std::vector<KernelRow> alone, together;
      std::vector<RowTask> tasks(kRows, RowTask{.normalizer = &normalizer});
      std::vector<ScoreRow> views;
      for (const Row& row : scores) {
        alone.emplace_back(row, Arrangement::tiles);
        together.emplace_back(row, Arrangement::tiles);
      }
      Handed one_by_one, at_once;
      Outcome found;
      for (std::size_t r = 0; r < kRows; ++r) {
        resolve_row(tasks[r], kEverything, alone[r].view(), workspace, found.outcome);
        one_by_one.take(r, found.outcome);
        views.push_back(together[r].view());
      }
      resolve_rows(tasks, kEverything, views, workspace, found.outcome, at_once);
      EXPECT_TRUE(same_bits(one_by_one.scales, at_once.scales));
      EXPECT_TRUE(same_bits(one_by_one.temperatures, at_once.temperatures));
      EXPECT_TRUE(same_bits(one_by_one.entropies, at_once.entropies));
      for (std::size_t r = 0; r < kRows; ++r) EXPECT_TRUE(same_bits(alone[r].data, together[r].data)) << "row " << r;
    });
  });
}

// Each breaks off 1.5e-8 of the stick, less than float can take from 1; together they take 1.5 % of it.
TEST(StickBreakingRow, KeysThatTakeNextToNothingAddUp) {
  const AnyNormalizer normalizer = StickBreaking{};
  Row scores(1'000'000, -18.0);
  scores[0] = 3.0;
  const ExactRow exact(normalizer, scores);
  const Row bounds = weight_bounds(exact);
  for_each_target([&](const std::string& target) {
    SCOPED_TRACE(target);
    check(normalizer, exact, bounds, Arrangement::contiguous);
  });
}

INSTANTIATE_TEST_SUITE_P(EverySetting, RowsAgainstOracle, testing::ValuesIn(all_settings()),
                         [](const auto& test) { return test_name(std::string(test.param.text)); });

}  // namespace
}  // namespace sharpmax::test
