// Laws of audits: what is read where, what is kept for any number of threads, and what is made of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "audit/measure/findings.h"
#include "audit/measure/reading.h"
#include "sharpmax/error.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

using audit::KeptRows;

TEST(ReadingPlan, StaysWithinTheTextAndNeverOverlaps) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    const auto tokens = static_cast<std::int64_t>(random.size(16, 5000));
    std::vector<std::int64_t> lengths;
    for (std::size_t k = random.size(1, 5); k > 0; --k)
      lengths.push_back(static_cast<std::int64_t>(random.size(16, 6000)));
    const auto plan = audit::plan_reading(lengths, tokens, static_cast<std::int64_t>(random.size(1, 6)));
    ASSERT_TRUE(std::is_sorted(plan.lengths.begin(), plan.lengths.end()));
    EXPECT_LE(plan.lengths.back(), tokens);
    ASSERT_GE(plan.starts.size(), 1u);
    for (std::size_t e = 0; e < plan.starts.size(); ++e) {
      EXPECT_LE(plan.starts[e] + plan.lengths.back(), tokens) << "tokens " << tokens;
      if (e > 0) {
        EXPECT_GE(plan.starts[e] - plan.starts[e - 1], plan.lengths.back());
      }
    }
  }
}

TEST(ReadingPlan, RowsLieInTheLastQuarterAndTheLastIsAmongThem) {
  for (const std::int64_t length : {16, 17, 64, 100, 127, 1000, 8192, 100000}) {
    const auto rows = audit::rows_near(length);
    ASSERT_FALSE(rows.empty());
    EXPECT_LE(static_cast<std::int64_t>(rows.size()), audit::kKeptRows);
    EXPECT_EQ(rows.back(), length - 1);
    EXPECT_GE(rows.front(), length - length / 4 - 1);
    EXPECT_TRUE(std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end());
  }
}

TEST(ReadingPlan, RefusesWhatIsTooShort) {
  EXPECT_THROW(audit::plan_reading({64}, 15, 1), Error);
  EXPECT_THROW(audit::plan_reading({8}, 100, 1), Error);
  EXPECT_THROW(audit::plan_reading({}, 100, 1), Error);
}

TEST(Quantile, IsThatOfTheSortedValuesAndPassesNaNOver) {
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> values(random.size(1, 40)), sorted;
    for (double& x : values) {
      x = random.normal();
      sorted.push_back(x);
    }
    values.insert(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), std::nan(""));
    std::sort(sorted.begin(), sorted.end());
    for (const double share : {0.0, 0.25, 0.5, 0.9, 1.0}) {
      const double place = share * static_cast<double>(sorted.size() - 1);
      const auto low = static_cast<std::size_t>(place), high = std::min(low + 1, sorted.size() - 1);
      const double wanted = sorted[low] + (place - std::floor(place)) * (sorted[high] - sorted[low]);
      EXPECT_DOUBLE_EQ(audit::quantile(values, share), wanted);
    }
  }
  std::vector<double> none{std::nan("")};
  EXPECT_TRUE(std::isnan(audit::quantile(none, 0.5)));
}

TEST(Forecast, GoesOnAsAPowerLawOrNotAtAll) {
  const std::vector<double> lengths{64, 128, 256, 512};
  std::vector<double> values;
  for (const double n : lengths) values.push_back(3 * std::pow(n, -0.4));
  EXPECT_NEAR(audit::power_slope({lengths, values}), -0.4, 1e-12);
  EXPECT_NEAR(audit::forecast({lengths, values}, 4096, 1.0), 3 * std::pow(4096, -0.4), 1e-12);
  EXPECT_DOUBLE_EQ(audit::forecast({lengths, values}, 4096, 0.0), values.back());
  const std::vector<double> rising{0.5, 0.6, 0.7, 0.8};
  EXPECT_EQ(audit::forecast({lengths, rising}, 1e9, 1.0), 1.0) << "no more than all the weight";
  std::vector<double> logarithm;
  for (const double n : lengths) logarithm.push_back(2 + 0.3 * std::log(n));
  EXPECT_NEAR(audit::log_slope({lengths, logarithm}), 0.3, 1e-12);
}

TEST(Forecast, DampingIsChosenWhereTheTruthIsKnown) {
  const std::vector<double> lengths{64, 128, 256, 512, 1024};
  std::vector<std::vector<double>> falling, noisy;
  Random random(4);
  for (int head = 0; head < 40; ++head) {
    std::vector<double> law, noise;
    for (const double n : lengths) {
      law.push_back(0.9 * std::pow(n / 64, -0.1 - 0.01 * head));
      noise.push_back(0.3 * std::exp(0.2 * random.normal()));
    }
    falling.push_back(law);
    noisy.push_back(noise);
  }
  EXPECT_EQ(audit::choose_damping(lengths, falling), 1.0);
  EXPECT_LE(audit::choose_damping(lengths, noisy), 0.3);
  const auto errors = audit::check_forecast(lengths, falling, 2, 4);
  EXPECT_EQ(errors.damping, 1.0);
  EXPECT_NEAR(errors.ours, 1.0, 1e-9);
  EXPECT_NEAR(errors.power_law, 1.0, 1e-9);
  EXPECT_GT(errors.no_change, 1.1);
  EXPECT_EQ(errors.from, 256);
  EXPECT_EQ(errors.to, 1024);
  EXPECT_EQ(errors.heads, 40);
}

// Rows of one head whose fields are what a function of the length says.
struct MadeUpHead {
  std::function<float(RowField, double)> field;
};

Findings findings_of(const std::vector<MadeUpHead>& heads, std::vector<std::int64_t> lengths,
                            std::int64_t trained = 1 << 20) {
  const audit::ReadingPlan plan{.lengths = lengths, .starts = {0, 100000}};
  audit::Readings readings = audit::no_readings(plan);
  for (auto& excerpt : readings) {
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      KeptRows rows{.positions = audit::rows_near(lengths[i])};
      for (const MadeUpHead& head : heads)
        for (std::size_t r = 0; r < rows.positions.size(); ++r)
          for (std::size_t f = 0; f < audit::kRowFields; ++f)
            rows.values.push_back(f < kPlainFields
                                      ? head.field(static_cast<RowField>(f), static_cast<double>(lengths[i]))
                                      : 1.0f);
      excerpt[i] = rows;
    }
  }
  model::Configuration c;
  c.layers = 1;
  c.heads = static_cast<std::int64_t>(heads.size());
  c.context = trained;
  return audit::find(plan, readings, c, {});
}

MadeUpHead head_with(double first, double near, std::function<double(double)> peak, double entropy_slope) {
  return {[=](RowField field, double n) -> float {
    switch (field) {
      case RowField::first:
        return static_cast<float>(first);
      case RowField::near_outside:
        return static_cast<float>(near);
      case RowField::peak_outside:
        return static_cast<float>(peak(n));
      case RowField::entropy_outside:
        return static_cast<float>(1 + entropy_slope * std::log(n));
      default:
        return 1.0f;
    }
  }};
}

TEST(Findings, KindsAreToldByTheirRules) {
  const auto flat = [](double p) { return [p](double) { return p; }; };
  const auto f = findings_of({head_with(0.8, 0.9, flat(0.9), 0), head_with(0.1, 0.9, flat(0.9), 0),
                              head_with(0.1, 0.1, flat(0.9), 0), head_with(0.1, 0.1, flat(0.05), 0),
                              head_with(0.1, 0.1, flat(0.2), 0.9), head_with(0.1, 0.1, flat(0.2), 0.1)},
                             {64, 128, 256});
  const HeadKind wanted[] = {HeadKind::sink,       HeadKind::local,
                                    HeadKind::sharp,      HeadKind::dispersing,
                                    HeadKind::dispersing, HeadKind::mixed};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(f.by_head[i].kind, wanted[i]) << "head " << i;
  EXPECT_EQ(f.count(HeadKind::dispersing), 2);
  EXPECT_EQ(f.blunt_heads, (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(Findings, BluntingLengthIsWhereALawCrossesTheThreshold) {
  using How = Blunting::How;
  // Crosses 0.1 at 200, at 5000, never, and was below all along.
  const auto law = [](double at) { return [at](double n) { return 0.1 * std::pow(n / at, -0.5); }; };
  const auto f = findings_of({head_with(0, 0, law(200), 0), head_with(0, 0, law(5000), 0),
                              head_with(
                                  0, 0, [](double n) { return 0.2 + n * 1e-6; }, 0),
                              head_with(
                                  0, 0, [](double) { return 0.03; }, 0),
                              head_with(0, 0, law(300), 0), head_with(0, 0, law(400), 0)},
                             {64, 128, 256, 512, 1024});
  EXPECT_EQ(f.by_head[0].blunting.how, How::measured);
  EXPECT_NEAR(f.by_head[0].blunting.length, 200, 0.01);
  EXPECT_EQ(f.damping, 1.0);
  EXPECT_EQ(f.by_head[1].blunting.how, How::forecast);
  EXPECT_NEAR(f.by_head[1].blunting.length, 5000, 1);
  EXPECT_EQ(f.by_head[2].blunting.how, How::not_foreseen);
  EXPECT_EQ(f.by_head[3].blunting.how, How::from_start);
  EXPECT_NEAR(f.by_head[1].peak_slope, -0.5, 1e-5);
}

class AuditOfAModel : public testing::Test {
 protected:
  AuditOfAModel() { TinyModel{.context = 256}.write(folder_ / "m.gguf"); }

  audit::Readings read(const model::Model& model, int threads) {
    model::SessionSettings settings;
    settings.threads = threads;
    settings.block = 48;
    model::Session session(model, settings);
    audit::Readings readings = audit::no_readings(plan_);
    Random random(2);
    for (auto& excerpt : readings) {
      std::vector<model::Token> tokens;
      for (std::int64_t i = 0; i < 200; ++i) tokens.push_back(static_cast<model::Token>(random.size(0, 96)));
      audit::read_excerpt(session, tokens, plan_.lengths,
                          {.on_length = [&](std::size_t i, KeptRows rows) { excerpt[i] = std::move(rows); }});
    }
    return readings;
  }

  Folder folder_{"audit-laws"};
  audit::ReadingPlan plan_{.lengths = {32, 100, 200}, .starts = {0, 200}};
};

TEST_F(AuditOfAModel, AnyNumberOfThreadsKeepsTheSameBits) {
  const model::Model model(folder_ / "m.gguf");
  const audit::Readings one = read(model, 1);
  EXPECT_EQ(one, read(model, 2));
  EXPECT_EQ(one, read(model, 5));
  EXPECT_EQ(one[0][2]->values.size(), 2u * 4u * 50u * audit::kRowFields);
  for (const auto& excerpt : one)
    for (const auto& rows : excerpt)
      EXPECT_TRUE(
          std::none_of(rows->values.begin(), rows->values.end(), [](float x) { return std::isnan(x); }));
}

TEST_F(AuditOfAModel, ReadingsComeBackFromTheirFileAndNoOther) {
  const model::Model model(folder_ / "m.gguf");
  audit::Readings readings = read(model, 1);
  readings[1][2].reset();  // not read yet
  const model::Configuration& c = model.configuration();
  audit::write_readings(folder_ / "rows.npz", readings, plan_, c, 42);
  EXPECT_EQ(audit::read_readings(folder_ / "rows.npz", plan_, c, 42), readings);
  EXPECT_EQ(audit::finished_lengths(readings), (std::vector<std::size_t>{0, 1}));
  EXPECT_THROW(audit::read_readings(folder_ / "rows.npz", plan_, c, 43), Error);
  model::Configuration other = c;
  other.heads = 8;
  EXPECT_THROW(audit::read_readings(folder_ / "rows.npz", plan_, other, 42), Error);
}

}  // namespace
}  // namespace sharpmax::test
