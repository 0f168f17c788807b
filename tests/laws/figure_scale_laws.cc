// Laws of the axes of figures and of the labels at the ends of their curves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "report/svg/svg.h"
#include "report/view/format.h"
#include "report/view/looks.h"

namespace sharpmax::report {
namespace {

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(FigureScaleLaws, PushedApartKeepsOrderDistanceAndLimits) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> wanted(1 + random() % 15);
    for (double& place : wanted) place = 10.0 + 280.0 * static_cast<double>(random() % 1000) / 999.0;
    const std::vector<double> places = pushed_apart(wanted, 17.0, 0.0, 300.0);
    ASSERT_EQ(places.size(), wanted.size());
    const std::vector<double> in_order = sorted(places);
    for (std::size_t i = 1; i < in_order.size(); ++i) EXPECT_GE(in_order[i] - in_order[i - 1], 17.0 - 1e-9);
    EXPECT_GE(in_order.front(), -1e-9);
    EXPECT_LE(in_order.back(), 300.0 + 1e-9);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      for (std::size_t k = 0; k < wanted.size(); ++k)
        EXPECT_TRUE(!(wanted[i] < wanted[k]) || places[i] < places[k]);
  }
}

TEST(FigureScaleLaws, WhatIsApartAlreadyStaysWhereItIs) {
  const std::vector<double> wanted{200.0, 20.0, 100.0};
  EXPECT_EQ(pushed_apart(wanted, 17.0, 0.0, 300.0), wanted);
}

// No other places that are far enough apart are nearer to those wanted: compared with a fine search of two.
TEST(FigureScaleLaws, TwoThatMeetShareTheWay) {
  const std::vector<double> places = pushed_apart(std::vector<double>{100.0, 104.0}, 20.0, 0.0, 300.0);
  EXPECT_DOUBLE_EQ(places[0], 92.0);
  EXPECT_DOUBLE_EQ(places[1], 112.0);
}

TEST(FigureScaleLaws, SharesGoFromEndToEndAndStayThere) {
  const std::vector<double> sizes{1024.0, 16.0, 64.0, 16.0, 0.0, -4.0};
  const Axis axis = size_axis("n", sizes);
  EXPECT_EQ(axis.low, 16.0);
  EXPECT_EQ(axis.high, 1024.0);
  EXPECT_EQ(axis.ticks.size(), 3u);
  EXPECT_EQ(axis.share(16.0), 0.0);
  EXPECT_EQ(axis.share(1024.0), 1.0);
  EXPECT_NEAR(axis.share(128.0), 0.5, 1e-15);
  EXPECT_EQ(axis.share(1e9), 1.0);
  EXPECT_FALSE(axis.has(0.0));
  EXPECT_FALSE(axis.has(-1.0));
  EXPECT_EQ(size_axis("n", std::vector<double>{8.0}).share(8.0), 0.5);
}

TEST(FigureScaleLaws, RoundTicksAreRoundWithinAndFew) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0.0, 14.6}, {0.0, 1.0}, {3.18, 4.2}, {-0.4, 1.3}, {0.0, 1e-7}, {0.0, 3.6e12}, {-5.0, -1.0}}) {
    const std::vector<double> ticks = round_ticks(low, high, 5);
    EXPECT_GE(ticks.size(), 3u) << low << " " << high;
    EXPECT_LE(ticks.size(), 9u) << low << " " << high;
    const double step = ticks[1] - ticks[0], power = std::pow(10.0, std::floor(std::log10(step) + 1e-6));
    const double digit = std::round(step / power);
    EXPECT_TRUE(digit == 1.0 || digit == 2.0 || digit == 5.0) << step;
    EXPECT_GE(ticks.front(), low - 1e-6 * step);
    EXPECT_LE(ticks.back(), high + 1e-6 * step);
  }
}

TEST(FigureScaleLaws, DecadesHoldEveryValue) {
  for (const auto& values : std::vector<std::vector<double>>{
           {0.002, 760.0}, {1.0}, {10.0, 100.0}, {}, {0.0, -1.0}, {1e-30, 1e30}}) {
    const Axis axis = decade_axis("v", values);
    EXPECT_LT(axis.low, axis.high);
    EXPECT_LE(axis.ticks.size(), 14u);
    for (const double value : values) {
      if (value <= 0.0) continue;
      EXPECT_LE(axis.low, value * (1.0 + 1e-8));
      EXPECT_GE(axis.high, value * (1.0 - 1e-8));
    }
  }
}

TEST(FigureWords, NumbersAreWrittenAsThePageWritesThem) {
  EXPECT_EQ(count(1048576.0), "1,048,576");
  EXPECT_EQ(count(-1234.0), "-1,234");
  EXPECT_EQ(short_count(131072.0), "128K");
  EXPECT_EQ(short_count(1000.0), "1000");
  EXPECT_EQ(short_count(0.06), "0.06");
  EXPECT_EQ(percent(0.98643), "98.6\u202f%");
  EXPECT_EQ(percent(0.99996), ">99.99\u202f%");
  EXPECT_EQ(percent(0.9996), "99.96\u202f%");
  EXPECT_EQ(percent(1.0), "100\u202f%");
  EXPECT_EQ(percent(0.0), "0\u202f%");
  EXPECT_EQ(percent(1e-9), "<0.01\u202f%");
  EXPECT_EQ(decimal(0.00001234), "1.2e-5");
  EXPECT_EQ(decimal(0.1234), "0.123");
  EXPECT_EQ(decimal(0.0), "0.000");
  EXPECT_EQ(decimal(123456.0), "123,456");
  EXPECT_EQ(power_of_ten(1e-7), "10⁻⁷");
  EXPECT_EQ(power_of_ten(0.01), "0.01");
  EXPECT_EQ(power_of_ten(1e4), "10,000");
  EXPECT_EQ(size_from_log10(23.4), "~10²³");
  EXPECT_EQ(size_from_log10(2.4726008660015655), "297");
}

TEST(FigureWords, TextIsValidUtf8WhoseCharactersCanBeSeen) {
  EXPECT_EQ(shown("a\x01z"), "a\\u0001z");
  EXPECT_EQ(shown("a\nb\tc"), "a b c");
  EXPECT_EQ(shown("\u202ebackwards"), "\\u202ebackwards");
  EXPECT_EQ(shown("漢字 é"), "漢字 é");
  EXPECT_EQ(shown("a\xff\xc3"), "a\uFFFD\uFFFD");
  EXPECT_EQ(shown("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // half of a surrogate pair
  EXPECT_EQ(shown("\xc0\xaf"), "\uFFFD\uFFFD");            // a slash in two bytes
  EXPECT_EQ(shown("\xef\xbf\xbf"), "\\uffff");             // which XML does not have
}

TEST(FigureWords, WhatIsCutFits) {
  const std::string name(300, 'w');
  for (const double width : {20.0, 100.0, 500.0}) {
    EXPECT_LE(width_of(cut_to(name, width, 12.0), 12.0), width + 12.0);
    EXPECT_TRUE(cut_to(name, width, 12.0).ends_with("…"));
  }
  EXPECT_EQ(cut_to("short", 100.0, 12.0), "short");
}

TEST(FigurePalette, EveryNormalizerHasALookAndTheKnownTheirOwn) {
  std::vector<std::string> names{"relu", "softmax", "hard", "softmax:beta=2", "entropy_target"};
  for (int i = 0; i < 60; ++i) names.push_back(std::string("other").append(std::to_string(i)));
  const std::vector<Look> looks = looks_of(names);
  ASSERT_EQ(looks.size(), names.size());
  EXPECT_EQ(looks[1].paint, Paint::vermillion);
  EXPECT_EQ(looks[1].dash, "");
  EXPECT_EQ(looks[2].paint, Paint::grey);
  EXPECT_EQ(looks[4].paint, Paint::green);
  for (std::size_t i = 0; i < 32; ++i)
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_FALSE(looks[i].paint == looks[k].paint && looks[i].dash == looks[k].dash)
          << names[i] << names[k];
  EXPECT_EQ(ramp(0.0), "#00224e");
  EXPECT_EQ(ramp(1.0), "#fee838");
  EXPECT_EQ(ramp(7.0), ramp(1.0));
}

TEST(FigureSvg, NumbersHaveAHundredthAndNoMore) {
  EXPECT_EQ(number(1.0), "1");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(12.345678), "12.35");
  EXPECT_EQ(number(0.5), "0.5");
}

}  // namespace
}  // namespace sharpmax::report
