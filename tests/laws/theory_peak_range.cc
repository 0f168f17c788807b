// The largest and the least peak: no row of any member passes them, rows reach them, and lengths agree with
// them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "sharpmax/error.h"
#include "support/row.h"
#include "support/theory_attack.h"
#include "theory/dispersion.h"
#include "theory/peak_range.h"

namespace sharpmax::test {
namespace {

using namespace sharpmax::theory;

constexpr double kPeakRounding = 1.0 + 1e-10;

const char* const kNormalizers[] = {"softmax",
                                    "softmax:beta=-1.5",
                                    "adaptive",
                                    "adaptive:polynomial=-1/3/0.5,threshold=0.1",
                                    "entropy_target",
                                    "entropy_target:nats=1.2",
                                    "peak_target",
                                    "peak_target:weight=0.9",
                                    "ssmax",
                                    "ssmax:s=-0.4,b=0.1",
                                    "log_length:preset=yarn_dynamic,length=2",
                                    "log_length:preset=llama4,floor=2,a=0.5",
                                    "sparsemax",
                                    "entmax15",
                                    "entmax:alpha=1.004",
                                    "entmax:alpha=3",
                                    "entmax:alpha=1",
                                    "asentmax",
                                    "asentmax:delta=-2,beta=0.1",
                                    "top_k:k=3",
                                    "top_k:k=3,beta=-1",
                                    "hard",
                                    "sink:c=0",
                                    "sink:c=4",
                                    "softpick",
                                    "sigmoid",
                                    "sigmoid:b=-1",
                                    "stick_breaking",
                                    "self_adjust",
                                    "self_adjust:form=plain",
                                    "relu"};
constexpr ScoreInterval kIntervals[] = {{-2.845, 2.845}, {0.5, 2.0}, {-3.0, -1.0}, {0.0, 2.0}, {-2.0, 0.0},
                                        {0.1, 1.05},     {1.0, 1.0}, {-1.0, -1.0}, {-8.0, 1.0}};

struct Peaks {
  double share = kNoValue, weight = 0.0;
  bool reachable_target = true;  // false: more exact ties for the first place than a target can part
};

Peaks peaks_of(const AnyNormalizer& normalizer, const Row& row) {
  const Row weights = weigh(normalizer, row).weights;
  const double mass = oracle::sum(weights), top = largest(row);
  const auto ties = std::count(row.begin(), row.end(), top);
  return {mass > 0.0 ? largest(weights) / mass : kNoValue, largest(weights), ties == 1};
}

// Plain self_adjust has a mass of any sign where scores may be negative: no share is claimed there.
bool claims_share(const PeakRange& range) { return !std::isnan(range.share.high); }

void expect_within(const PeakRange& range, const Peaks& peaks) {
  const double slack = 1e-12 * std::abs(peaks.weight);
  EXPECT_LE(peaks.weight, range.weight.high * (range.weight.high > 0.0 ? kPeakRounding : 1.0) + slack);
  EXPECT_GE(peaks.weight, range.weight.low - 1e-10 * std::abs(range.weight.low));
  if (std::isnan(peaks.share) || !claims_share(range)) return;
  EXPECT_LE(peaks.share, range.share.high * kPeakRounding);
  EXPECT_LE(peaks.share, range.ceiling * kPeakRounding);
  EXPECT_GE(peaks.share * kPeakRounding, peaks.reachable_target ? range.untied_low : range.share.low);
}

Row row_at(const Row& places, const ScoreInterval& interval) {
  Row row = places;
  for (double& e : row) e = std::min(interval.bottom + e * interval.spread(), interval.top);
  return row;
}

TEST(TheoryPeakRange, NoRandomRowPassesIt) {
  for (const char* text : kNormalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    for (const ScoreInterval& interval : kIntervals) {
      SCOPED_TRACE(fmt::format("{} [{}, {}]", text, interval.bottom, interval.top));
      for_each_seed(25, [&](Random& random) {
        const std::size_t n = random.size(1, 40);
        Row places(n);
        const double power = random.log_uniform(0.05, 20.0);
        const bool corners = random.uniform() < 0.3;
        for (double& x : places)
          x = corners ? std::round(random.uniform()) : std::pow(random.uniform(), power);
        expect_within(peak_range(normalizer, static_cast<double>(n), interval),
                      peaks_of(normalizer, row_at(places, interval)));
      });
    }
  }
}

TEST(TheoryPeakRange, NoUphillSearchPassesIt) {
  for (const char* text : kNormalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    for (const ScoreInterval& interval : kIntervals) {
      for (const std::size_t n : {2u, 5u}) {
        SCOPED_TRACE(fmt::format("{} [{}, {}], n = {}", text, interval.bottom, interval.top, n));
        const PeakRange range = peak_range(normalizer, static_cast<double>(n), interval);
        Random random(n);
        for (const double sign : {1.0, -1.0})
          for (const bool share : {true, false})
            climbed(
                random, n,
                [&](const Row& places) {
                  const Peaks peaks = peaks_of(normalizer, row_at(places, interval));
                  expect_within(range, peaks);
                  const double value = sign * (share ? peaks.share : peaks.weight);
                  return std::isnan(value) ? -HUGE_VAL : value;
                },
                2, 1e-3);
        if (HasFailure()) return;
      }
    }
  }
}

// The search knows nothing of the formulas: it sees the specification alone.
TEST(TheoryPeakRange, IsWhatASearchThroughTheSpecificationFinds) {
  for (const char* text : kNormalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    for (const ScoreInterval& interval : kIntervals) {
      SCOPED_TRACE(fmt::format("{} [{}, {}]", text, interval.bottom, interval.top));
      constexpr double kKeys = 6;
      const PeakRange range = peak_range(normalizer, kKeys, interval);
      const PeakRange found = searched_range(normalizer, kKeys, interval);
      const auto near = [](double a, double b) {
        return std::abs(a - b) <= 2e-4 * std::max(1.0, std::abs(b));
      };
      EXPECT_PRED2(near, found.weight.high, range.weight.high);
      EXPECT_PRED2(near, found.weight.low, range.weight.low);
      if (!claims_share(range)) continue;
      EXPECT_PRED2(near, found.share.high, range.share.high);
      // The even stick is no row of three distinct scores; the attacks reach it.
      if (normalizer.name() != "stick_breaking") {
        EXPECT_PRED2(near, found.share.low, range.share.low);
      }
    }
  }
}

TEST(TheoryPeakRange, TargetsGuaranteeWhatTheySayAndTiesAloneBreakIt) {
  const ScoreInterval interval = centred(4.0);
  const PeakRange target = peak_range(EntropyTarget{.nats = 1.2}, 9, interval);
  EXPECT_DOUBLE_EQ(target.untied_low, least_peak_at_entropy(1.2, 9));
  EXPECT_GT(target.untied_low, std::exp(-1.2));
  // k ties share the first place, one key has what is left: the bluntest row of that entropy.
  const double copies = std::floor(1.0 / target.untied_low);
  ASSERT_LT(std::log(copies), 1.2);
  Row row(9, -2.0);
  std::fill_n(row.begin(), static_cast<std::size_t>(copies), 1e-6);
  row[8] = 0.0;
  EXPECT_NEAR(peaks_of(EntropyTarget{.nats = 1.2}, row).share, target.untied_low, 1e-6);
  EXPECT_NEAR(peaks_of(EntropyTarget{.nats = 1.2}, Row(9, 0.5)).share, 1.0 / 9.0, 1e-12);
  EXPECT_DOUBLE_EQ(target.share.low, 1.0 / 9.0);
  EXPECT_DOUBLE_EQ(peak_range(PeakTarget{.weight = 0.7}, 9, interval).untied_low, 0.7);
}

TEST(TheoryPeakRange, LongRowsAreAsTheFormulasSay) {
  const ScoreInterval interval = centred(5.69);
  for (const char* text :
       {"softmax", "sparsemax", "entmax:alpha=1.1", "ssmax:s=0.2", "sigmoid", "softpick"}) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    constexpr std::size_t kKeys = 20000;
    Row row(kKeys, text == std::string("softpick") ? 0.0 : interval.bottom);
    row.back() = interval.top;
    const double high = peak_range(normalizer, kKeys, interval).share.high;
    EXPECT_NEAR(peaks_of(normalizer, row).share, high, 1e-10 * high) << text;
  }
}

// The best row of adaptive among 1,024 keys is not one winner alone: five keys near it bring the entropy down
// to where the polynomial sharpens most.
TEST(TheoryPeakRange, TheBestRowOfAdaptiveIsARowOfItsSpecification) {
  Row row(1024, -5.69);
  row[0] = 0.0;
  const PeakRange range = peak_range(Adaptive{}, 1024, centred(5.69));
  const double lone = peaks_of(Adaptive{}, row).share;
  std::fill_n(row.begin() + 1, 5, -1.6064);
  const double among_near = peaks_of(Adaptive{}, row).share;
  EXPECT_LT(lone, 0.5);
  EXPECT_NEAR(among_near, range.share.high, 1e-6);
  EXPECT_LE(among_near, range.share.high * kPeakRounding);
  EXPECT_LE(range.share.high, range.ceiling);
}

TEST(TheoryPeakRange, TheCeilingOfAdaptiveIsAboveEveryRowThatWasFound) {
  for (const char* text : {"adaptive", "adaptive:polynomial=-1/3/0.5,threshold=0.1"})
    for (const double spread : {0.3, 2.0, 5.69, 12.0})
      for (double n = 2.0; n < 1e9; n = std::floor(n * 1.7)) {
        const PeakRange range = peak_range(AnyNormalizer::parse(text), n, centred(spread));
        EXPECT_LE(range.share.high, range.ceiling * kPeakRounding) << text << " " << spread << " " << n;
      }
}

// More keys than the stick has room for at the pace of the newest: what is left goes at the largest fraction.
TEST(TheoryPeakRange, TheEvenStickIsReachedPastItsEnd) {
  for (const ScoreInterval& interval : {ScoreInterval{-2.845, 2.845}, ScoreInterval{-3.0, -1.0}})
    for (const std::size_t n : {5u, 17u, 18u, 19u, 40u, 300u}) {
      const auto logistic = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
      const double each = logistic(interval.bottom);
      Row row(n);
      double left = 1.0;
      for (std::size_t j = n; j-- > 0;) {  // the newest first
        const double fraction = std::min(each / left, logistic(interval.top));
        row[j] = std::clamp(std::log(fraction / (1.0 - fraction)), interval.bottom, interval.top);
        left *= 1.0 - fraction;
      }
      const PeakRange range = peak_range(StickBreaking{}, static_cast<double>(n), interval);
      EXPECT_NEAR(peaks_of(StickBreaking{}, row).share, range.share.low, 1e-9) << n;
    }
}

TEST(TheoryPeakLost, LengthsAreWhereTheRangeCrossesThePeak) {
  for (const char* text : kNormalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    for (const double peak : {0.1, 0.93}) {
      SCOPED_TRACE(fmt::format("{} {}", text, peak));
      const ScoreInterval interval = centred(3.0);
      const auto can = [&](double n) { return peak_range(normalizer, n, interval).share.high >= peak; };
      const auto sure = [&](double n) { return peak_range(normalizer, n, interval).untied_low >= peak; };
      const PeakLoss loss = peak_loss(normalizer, peak, interval);
      if (loss.lost && *loss.lost > 1.0) {
        EXPECT_TRUE(can(*loss.lost - 1.0));
      }
      if (loss.lost) {
        EXPECT_FALSE(can(*loss.lost));
      }
      if (!loss.lost) {
        EXPECT_TRUE(can(1e12));
      }
      if (loss.regained) {
        EXPECT_TRUE(can(*loss.regained));
        EXPECT_FALSE(can(*loss.regained - 1.0));
      }
      if (loss.sure && *loss.sure >= 1.0) {
        EXPECT_TRUE(sure(*loss.sure));
      }
      EXPECT_FALSE(loss.sure && sure(*loss.sure + 1.0));
      for (double n = 1.0; n < std::min(loss.lost.value_or(200.0), 200.0); ++n) ASSERT_TRUE(can(n)) << n;
    }
  }
}

TEST(TheoryPeakLost, KnownAnswers) {
  const ScoreInterval interval = centred(5.69);
  EXPECT_EQ(peak_loss(Softmax{}, 0.5, interval).lost, std::floor(1.0 + std::exp(5.69)) + 1.0);
  EXPECT_EQ(peak_loss(Softmax{}, 0.5, interval).sure, 2.0);
  EXPECT_EQ(peak_loss(Hard{}, 0.5, interval).lost, std::nullopt);
  EXPECT_EQ(peak_loss(Hard{}, 0.5, interval).sure, std::nullopt);
  EXPECT_EQ(peak_loss(EntropyTarget{}, 0.75, interval).sure, std::nullopt);
  EXPECT_EQ(peak_loss(TopK{.k = 4}, 0.25, interval).sure, std::nullopt);
  EXPECT_EQ(peak_loss(Sparsemax{}, 0.9, interval).lost, std::nullopt);  // a gap of 1 is enough
  EXPECT_EQ(peak_loss(Sparsemax{}, 0.9, centred(0.5)).lost, 2.0);       // 0.75 of two keys
  EXPECT_EQ(peak_loss(Relu{}, 0.5, {-3.0, -1.0}).lost, 1.0);            // no weight at any n
  const PeakLoss ssmax = peak_loss(Ssmax{}, 0.9, centred(1.2));         // blunt while ln n is small
  ASSERT_TRUE(ssmax.lost && ssmax.regained);
  EXPECT_EQ(*ssmax.lost, 2.0);
  EXPECT_NEAR(*ssmax.regained, 59044.0, 1.0);
}

TEST(TheoryPeakRange, HypothesesAreChecked) {
  EXPECT_THROW(peak_range(Softmax{}, 0.0, centred(1.0)), Error);
  EXPECT_THROW(peak_range(Hard{}, 0.0, centred(1.0)), Error);
  EXPECT_THROW(peak_range(Softmax{}, std::nan(""), centred(1.0)), Error);
  EXPECT_THROW(peak_range(Softmax{}, 4.0, {1.0, 0.0}), Error);
  EXPECT_THROW(peak_range(Softmax{}, 4.0, {0.0, kInfinity}), Error);
  EXPECT_THROW(centred(-1.0), Error);
  EXPECT_THROW(peak_loss(Softmax{}, 1.0, centred(1.0)), Error);
  EXPECT_THROW(searched_range(Softmax{}, 1e6, centred(1.0)), Error);
  try {
    peak_range(Linear{}, 4.0, centred(1.0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace sharpmax::test
