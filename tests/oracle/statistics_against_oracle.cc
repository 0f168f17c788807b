// What the kernels say of their rows against the oracle, straight from the definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "attention/oracle/oracle.h"
#include "sharpmax/attention.h"
#include "support/attention_normalizers.h"
#include "support/attention_tolerance.h"

namespace sharpmax::test {
namespace {

using PerRow = TensorView<double, 3>;

bool statistics_run(const std::string& normalizer, std::size_t case_index) {
  return takes_case(normalizer, case_index, 4) || (normalizer == "softmax" && case_index % 2 == 1) ||
         case_index < 2;
}

// One problem under one normalizer: the oracle's statistics, plain float's, and what they allow.
class Comparison {
 public:
  Comparison(AttentionProblem& problem, const AnyNormalizer& normalizer)
      : problem_(problem),
        meets_a_target_(normalizer.name() == "entropy_target" || normalizer.name() == "peak_target"),
        survey_(problem, specification_of(normalizer), Decision::support, kGapOctaves),
        values_(problem, specification_of(normalizer), Decision::values),
        wanted_(problem.make_statistics()->view),
        plain_(problem.make_statistics()->view) {
    Buffer out(DType::float64, problem.out_shape());
    sharpmax::oracle::forward({problem.request, normalizer, problem.segments, out.output(), &wanted_, 1});
    plain_forward(problem, normalizer, DType::float32, &plain_);
    AttentionRequest request = problem.request;
    for_each_row(problem, [&](const RowIndex& at, KeyRange keys) {
      sharpmax::oracle::Scratch scratch(request);
      const sharpmax::oracle::WeighedRow row = sharpmax::oracle::weigh(request, normalizer, at, keys, scratch);
      std::vector<double> weights(to_size(request.key.shape[2]), 0.0);
      for (std::size_t j = 0; j < row.weights.size(); ++j) weights[to_size(keys.begin) + j] = row.weights[j];
      weights_.push_back(std::move(weights));
    });
  }

  const ProblemSurvey& survey() const { return survey_; }

  void check(const RowStatistics& found) const {
    each_row_statistic([&]<class T>(const RowStatistic<T>& statistic) {
      if constexpr (std::is_same_v<T, double>) {
        const std::string_view name = statistic.name();
        const bool follows = name == "log_partition" || name == "temperature";
        per_row(statistic.name(), found.*statistic.view, plain_.*statistic.view, wanted_.*statistic.view,
                follows ? Follows::temperature : Follows::nothing);
      }
    });
    whole_numbers(found);
    heaviest(found);
    sums(found);
  }

 private:
  enum class Follows { nothing, temperature };  // what is proportional to beta errs as beta does

  // A rule that meets a target has beta * gap of order 1, so a gap that is off by twice the score error
  // moves beta by a fraction 2 * beta * error; twice that, for targets down to beta * gap = 1/2.
  double shift_of_temperature(const RowVerdict& row) const {
    const double beta = wanted_.temperature(row.at.batch, row.at.head, row.at.row);
    return meets_a_target_ && std::isfinite(beta) ? 4.0 * beta * row.score_error : 0.0;
  }

  // NaN and infinities must be the same; the rest as close as twice plain float.
  void per_row(const char* name, const PerRow& found, const PerRow& plain, const PerRow& wanted,
               Follows follows) const {
    double worst = 0.0, plain_worst = 0.0, largest = 0.0;
    for (const RowVerdict& row : values_.rows) {
      const auto [b, h, q] = row.at;
      const double f = found(b, h, q), p = plain(b, h, q), w = wanted(b, h, q);
      if (!row.decided) continue;
      if (!std::isfinite(w)) {
        EXPECT_TRUE(std::isnan(w) ? std::isnan(f) : f == w) << name << " of row " << q << " is " << f << ", not " << w;
        continue;
      }
      if (!std::isfinite(f)) worst = std::numeric_limits<double>::infinity();
      const double shift = follows == Follows::temperature ? shift_of_temperature(row) * std::abs(w) : 0.0;
      worst = std::max(worst, std::abs(f - w) - shift);
      if (std::isfinite(p)) plain_worst = std::max(plain_worst, std::abs(p - w));
      largest = std::max(largest, 1.0 + std::abs(w));
    }
    EXPECT_LE(worst, 2.0 * plain_worst + values_.magnitudes.floor_of(largest)) << name;
  }

  // Weights below what float can hold beside the largest are 0 there: they may count or not.
  void whole_numbers(const RowStatistics& found) const {
    for (std::size_t r = 0; r < survey_.rows.size(); ++r) {
      const RowVerdict& row = survey_.rows[r];
      const auto [b, h, q] = row.at;
      if (row.decided) {
        const std::int64_t lost = weights_lost_in_float(weights_[r]);
        EXPECT_LE(found.support(b, h, q), wanted_.support(b, h, q)) << "support of row " << q;
        EXPECT_GE(found.support(b, h, q), wanted_.support(b, h, q) - lost) << "support of row " << q;
      }
      for (std::size_t i = 0; row.gaps_decided && i < wanted_.gaps.size(); ++i) {
        EXPECT_EQ(found.gap_counts(b, h, q, i), wanted_.gap_counts(b, h, q, i))
            << "keys within " << wanted_.gaps[i] << " in row " << q;
      }
    }
  }

  // Six binades above the smallest normal float: the exponent of a weight is itself rounded.
  static std::int64_t weights_lost_in_float(const std::vector<double>& weights) {
    const double largest = weights.empty() ? 0.0 : *std::max_element(weights.begin(), weights.end());
    return std::count_if(weights.begin(), weights.end(),
                         [&](double w) { return w > 0.0 && w < 0x1p-120 * largest; });
  }

  // Keys of nearly equal weight may change places: a reported key must weigh what the oracle's key in
  // that place weighs, and no key may be reported twice.
  void heaviest(const RowStatistics& found) const {
    for (std::size_t r = 0; r < values_.rows.size(); ++r) {
      const auto [b, h, q] = values_.rows[r].at;
      if (!values_.rows[r].decided) continue;
      const double slack = tolerance(values_.rows[r]);
      const auto weight_of = [&](std::int64_t key) {
        const bool known = 0 <= key && key < problem_.request.key.shape[2];
        return known ? weights_[r][to_size(key)] : kNoValue;
      };
      const std::int64_t peak = wanted_.peak_key(b, h, q);
      EXPECT_EQ(found.peak_key(b, h, q) == -1, peak == -1) << "peak_key of row " << q;
      if (peak != -1) {
        EXPECT_NEAR(weight_of(found.peak_key(b, h, q)), weight_of(peak), slack) << "peak of row " << q;
      }
      std::set<std::int64_t> seen;
      for (std::int64_t i = 0; i < AllStatistics::kTop; ++i) {
        const std::int64_t key = found.top_keys(b, h, q, i), there = wanted_.top_keys(b, h, q, i);
        EXPECT_EQ(key == -1, there == -1) << "key " << i << " of row " << q;
        EXPECT_NEAR(found.top_weights(b, h, q, i), wanted_.top_weights(b, h, q, i), slack) << "row " << q;
        if (there == -1) continue;
        EXPECT_NEAR(weight_of(key), weight_of(there), slack) << "key " << i << " of row " << q;
        EXPECT_TRUE(seen.insert(key).second) << "key " << key << " twice in row " << q;
      }
    }
  }

  // Of one weight: its exponent is off by beta times the score's error.
  double tolerance(const RowVerdict& row) const {
    const double beta = wanted_.temperature(row.at.batch, row.at.head, row.at.row);
    const double largest = std::max(1.0, std::abs(wanted_.top_weights(row.at.batch, row.at.head, row.at.row, 0)));
    return largest * (values_.magnitudes.floor_of(1.0) + 4.0 * std::max(1.0, std::isfinite(beta) ? beta : 1.0) * row.score_error);
  }

  // Undecided rows are part of these sums: each may move its whole mass.
  void sums(const RowStatistics& found) const {
    const auto [batches, heads, queries, keys] =
        Extents<4>{problem_.request.query.shape[0], problem_.request.query.shape[1], problem_.request.query.shape[2],
                   problem_.request.key.shape[2]};
    if (values_.undecided() > 0) return;
    double worst = 0.0, plain_worst = 0.0, largest = 0.0;
    const auto compare = [&](double f, double p, double w) {
      worst = std::isnan(f) ? std::numeric_limits<double>::infinity() : std::max(worst, std::abs(f - w));
      plain_worst = std::max(plain_worst, std::abs(p - w));
      largest = std::max(largest, std::abs(w));
    };
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t j = 0; j < keys; ++j) {
          compare(found.column_mass(b, h, j), plain_.column_mass(b, h, j), wanted_.column_mass(b, h, j));
        }
        for (std::int64_t r = 0; r < AllStatistics::kMapRows; ++r) {
          for (std::int64_t c = 0; c < AllStatistics::kMapColumns; ++c) {
            compare(found.map(b, h, r, c), plain_.map(b, h, r, c), wanted_.map(b, h, r, c));
          }
        }
      }
    }
    EXPECT_LE(worst, 2.0 * plain_worst + values_.magnitudes.floor_of(largest)) << "column_mass and map";
  }

  AttentionProblem& problem_;
  const bool meets_a_target_;
  ProblemSurvey survey_, values_;
  RowStatistics wanted_, plain_;
  std::vector<std::vector<double>> weights_;  // [row][key]
};

class StatisticsAgainstOracle : public testing::TestWithParam<std::string> {};

TEST_P(StatisticsAgainstOracle, AreWhatTheDefinitionsSay) {
  std::int64_t rows = 0, undecided = 0, gaps_undecided = 0;
  for (std::size_t i = 0; i < attention_cases().size(); ++i) {
    const AttentionCase& c = attention_cases()[i];
    AnyNormalizer normalizer = normalizer_named(GetParam());
    const bool linear = normalizer.definition().needs_queries_and_keys;
    if (!statistics_run(GetParam(), i) || (linear && c.speaks_of_scores())) continue;
    if (c.heads > 2) normalizer = one_value_per_head(normalizer, c.heads);
    SCOPED_TRACE(c.name + " under " + normalizer.text());
    AttentionProblem problem(c);
    const Comparison comparison(problem, normalizer);
    for (const RowVerdict& row : comparison.survey().rows) {
      ++rows;
      undecided += !row.decided;
      gaps_undecided += !row.gaps_decided;
    }
    for_each_target([&](const std::string& target) {
      SCOPED_TRACE(target);
      Buffer out = problem.make_out(c.out_type);
      AllStatistics* statistics = problem.make_statistics();
      attend(problem.request, normalizer, out.output(), &statistics->view);
      comparison.check(statistics->view);
    });
  }
  EXPECT_LE(undecided, rows / 20) << "too many rows were too close to a decision to be compared";
  EXPECT_LE(gaps_undecided, rows / 5) << "too many rows had a key too close to a gap";
}

INSTANTIATE_TEST_SUITE_P(EveryNormalizer, StatisticsAgainstOracle, testing::ValuesIn(normalizers_under_test()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace sharpmax::test
