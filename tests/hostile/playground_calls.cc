// The playground's functions as a page may call them: whatever it asks, it gets an answer or a sentence.
#include "playground/playground.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "normalizer/definition.h"

namespace sharpmax::test {
namespace {

constexpr double kUntouched = -7.0;

struct Call {
  std::string normalizer = "softmax";
  std::vector<double> scores = {1.0, 2.0, 3.0};
  double beta = 1.0;
  std::vector<double> weights = {}, statistics = {};

  bool weigh() {
    weights.assign(scores.size(), kUntouched);
    statistics.assign(16, kUntouched);
    return sharpmax_weigh(normalizer.c_str(), scores.data(), scores.size(), beta, weights.data(),
                          statistics.data());
  }
};

// Refused with a sentence that holds `word`, and nothing was written.
void expect_call_refused(Call call, const std::string& word) {
  EXPECT_FALSE(call.weigh()) << word;
  EXPECT_NE(std::string(sharpmax_message()).find(word), std::string::npos) << sharpmax_message();
  EXPECT_EQ(call.weights, std::vector<double>(call.scores.size(), kUntouched)) << word;
  EXPECT_EQ(call.statistics, std::vector<double>(16, kUntouched)) << word;
}

nlohmann::json family_told() { return nlohmann::json::parse(sharpmax_family()); }

TEST(PlaygroundCalls, TextThatNamesNoNormalizerIsRefusedWithItsColumn) {
  expect_call_refused({.normalizer = ""}, "the name is missing");
  expect_call_refused({.normalizer = "sofmax"}, "did you mean softmax?");
  expect_call_refused({.normalizer = "softmax:beta=x"}, "column 14");
  expect_call_refused({.normalizer = "entropy_target:nats=0"}, "a number above 0");
  expect_call_refused({.normalizer = "\xff<script>"}, "\\xff<script>");
  expect_call_refused({.normalizer = std::string(100'000, 'x')}, "xxx...");
  EXPECT_FALSE(sharpmax_is_normalizer("entmax:alpha=0"));
  EXPECT_TRUE(sharpmax_is_normalizer("entmax:alpha=2"));
}

TEST(PlaygroundCalls, ARowHasOneHeadAndScoresAlone) {
  expect_call_refused({.normalizer = "softmax:beta=1/2"}, "2 values for 1 heads");
  expect_call_refused({.normalizer = "linear"}, "needs queries and keys");
  const auto told = family_told();
  for (const auto& member : told["normalizers"]) EXPECT_NE(member["name"], "linear");
}

TEST(PlaygroundCalls, RowsThatAreEmptyTooLongOrNotFiniteAreRefused) {
  const auto most = family_told()["largest_row"].get<std::size_t>();
  expect_call_refused({.scores = {}}, "no scores");
  expect_call_refused({.scores = std::vector<double>(most + 1)}, "it may have 65536");
  EXPECT_TRUE((Call{.scores = std::vector<double>(most)}).weigh());
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    expect_call_refused({.scores = {0.0, bad}}, "not a finite number");
    expect_call_refused({.beta = bad}, "beta is not a finite number");
  }
  expect_call_refused({.scores = {1e300}, .beta = 1e10}, "beta times a score");
}

TEST(PlaygroundCalls, AnEnormousLengthIsRefusedBeforeTheRowIsRead) {
  const double score = 1.0;
  double weight = kUntouched, statistics[16] = {};
  EXPECT_FALSE(
      sharpmax_weigh("softmax", &score, std::numeric_limits<std::size_t>::max(), 1.0, &weight, statistics));
  EXPECT_EQ(weight, kUntouched);
}

TEST(PlaygroundCalls, AfterARefusalTheNextCallIsAnswered) {
  expect_call_refused({.normalizer = "nonsense"}, "nonsense");
  EXPECT_TRUE(Call{}.weigh());
}

// The family's words, one by one, and the weights of every member bit for bit.
TEST(PlaygroundCalls, EveryMemberIsToldAndWeighsAsItsSpecification) {
  const nlohmann::json told = family_told();
  std::size_t next = 0;
  for (const NormalizerInfo& member : family()) {
    if (member.needs_queries_and_keys) continue;
    const nlohmann::json& words = told["normalizers"].at(next++);
    EXPECT_EQ(words["name"], member.name);
    EXPECT_EQ(words["formula"], member.formula);
    EXPECT_EQ(words["peak_as_n_grows"], member.peak_as_n_grows);
    ASSERT_EQ(words["parameters"].size(), member.parameters.size());
    Call call{.normalizer = std::string(member.name), .scores = {0.25, -1.0, 3.0, 3.0, 2.5}, .beta = 0.5};
    ASSERT_TRUE(call.weigh()) << sharpmax_message();
    const std::vector<double> sharpened = {0.125, -0.5, 1.5, 1.5, 1.25};
    std::vector<double> wanted(sharpened.size());
    weigh_row(AnyNormalizer(member.name), 0, sharpened, wanted);
    EXPECT_EQ(call.weights, wanted) << member.name;
  }
  EXPECT_EQ(told["normalizers"].size(), next);
}

TEST(PlaygroundCalls, StatisticsComeInTheOrderThatIsTold) {
  const nlohmann::json names = family_told()["statistics"];
  Call call{.scores = {0.0, 0.0, 0.0, 0.0}, .beta = 3.0};
  ASSERT_TRUE(call.weigh());
  const auto value = [&](const char* name) {
    return call.statistics.at(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
  };
  EXPECT_DOUBLE_EQ(value("entropy"), std::log(4.0));
  EXPECT_DOUBLE_EQ(value("effective_support"), 4.0);
  EXPECT_EQ(value("peak_weight"), 0.25);
  EXPECT_EQ(value("peak_key"), 0.0);
  EXPECT_EQ(value("support"), 4.0);
  EXPECT_EQ(value("mass"), 1.0);
  EXPECT_EQ(value("temperature"), 1.0);
  EXPECT_TRUE(std::isnan(value("threshold")));
  EXPECT_DOUBLE_EQ(value("log_partition"), std::log(4.0));
}

}  // namespace
}  // namespace sharpmax::test
