// Results that are not what the report reads are refused with one sentence; odd but legal ones are not.
#include <gtest/gtest.h>

#include <string>

#include "report/kinds.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRoom = 500'000;

Json small_results() {
  return Json::parse(R"({
    "schema": "sharpmax.retrieval/1", "sharpmax": "0", "command": "c", "created": "d", "seconds": {}, "preset": "quick",
    "settings": {}, "arms": [{"name": "a", "training": {}}],
    "heads": [{"arm": "a", "seed": 0, "loss": 1, "normalizer": "softmax",
               "spread": {"certified": 2, "attained": 1}, "half_lost_from_log10": 3}],
    "results": [
      {"arm": "a", "seed": 0, "normalizer": "softmax", "n": 16, "sets": 4, "hard_right_rule_right": 1,
       "hard_right_rule_wrong": 1, "hard_wrong_rule_right": 1, "hard_wrong_rule_wrong": 1, "bound_violations": 0,
       "temperature": null, "spread": 1.0, "largest_peak_weight": 0.5, "weight_bound": null},
      {"arm": "a", "seed": 1, "normalizer": "softmax", "n": 16, "sets": 4, "hard_right_rule_right": 2,
       "hard_right_rule_wrong": 0, "hard_wrong_rule_right": 1, "hard_wrong_rule_wrong": 1, "bound_violations": 0,
       "temperature": 2.0, "spread": 3.0, "largest_peak_weight": 0.25, "weight_bound": null}],
    "summary": [{"arm": "a", "normalizer": "softmax", "n": 16, "seeds": 2, "accuracy": 0.5, "accuracy_low": 0.25,
                 "accuracy_high": 0.75, "entropy": 1, "peak_weight": 0.5, "right_weight": 0.5, "ranked_first": 0.5,
                 "hard_accuracy": 0.5}],
    "tests": [], "published": [],
    "heat_maps": [{"arm": "a", "seed": 0, "normalizer": "softmax", "n": 16, "sets": 2, "items": 2,
                   "weights": [[0.25, 0.5], [null, 1.0]]}]
  })");
}

void expect_refused(const Json& results, const std::string& word) {
  try {
    page_data(results, kRoom);
    FAIL() << "not refused: " << word;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_EQ(std::string(error.what()).find("report: "), 0u) << error.what();
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(ReportResults, CountsAreSummedMeansSkipWhatWasNotMeasuredAndExtremesStay) {
  const Json data = page_data(small_results(), kRoom);
  const Json& table = data.at("table");
  Json row;
  for (std::size_t i = 0; i < table.at("columns").size(); ++i)
    row[table.at("columns")[i].get<std::string>()] = table.at("rows")[0][i];
  EXPECT_EQ(row.at("sets"), 8);
  EXPECT_EQ(row.at("hard_right_rule_right"), 3);
  EXPECT_EQ(row.at("hard_right_rule_wrong"), 1);
  EXPECT_EQ(row.at("temperature"), 2.0);
  EXPECT_EQ(row.at("spread"), 2.0);
  EXPECT_EQ(row.at("largest_peak_weight"), 0.5);
  EXPECT_TRUE(row.at("weight_bound").is_null());
  EXPECT_EQ(data.at("heat_maps")[0].at("thousandths"), Json::parse("[250, 500, null, 1000]"));
  EXPECT_EQ(data.at("heat_maps")[0].at("on_largest"), 0.75);
}

TEST(ReportResults, AnotherSchemaIsNamed) {
  Json results = small_results();
  results["schema"] = "sharpmax.retrieval/2";
  expect_refused(results, "sharpmax.retrieval/2");
}

TEST(ReportResults, EachMissingFieldIsRefused) {
  const Json whole = small_results();
  for (const auto& [name, value] : whole.items()) {
    Json results = whole;
    results.erase(name);
    expect_refused(results, name);
  }
  for (const char* list : {"results", "summary", "heads", "heat_maps"})
    for (const auto& [name, value] : whole.at(list)[0].items()) {
      Json results = whole;
      results[list][0].erase(name);
      if (std::string(list) == "results" && name == "seed") continue;  // the page sums over seeds
      expect_refused(results, "report: ");
    }
}

TEST(ReportResults, FieldsOfAnotherKindAreRefused) {
  expect_refused(Json::parse("[]"), "schema");
  expect_refused(Json::parse("null"), "schema");
  Json results = small_results();
  results["results"][0]["sets"] = "many";
  expect_refused(results, "type must be number, but is string");
}

TEST(ReportResults, PublishedFiguresMayHaveTheFieldOfEarlierVersions) {
  Json results = small_results();
  results["arms"][0]["training"] = {{"largest_size", 16}, {"classes", 10}};
  results["published"] = Json::parse(R"([{"normalizer": "softmax", "n": 16, "accuracy": 0.5, "remembered": true}])");
  EXPECT_EQ(page_data(results, kRoom).at("published"), results["published"]);
  EXPECT_FALSE(kind_of(results).figures(results).empty());
}

TEST(ReportResults, ASummaryOfWhatWasNotMeasuredIsRefused) {
  Json results = small_results();
  results["summary"][0]["normalizer"] = "ha\nrd";
  expect_refused(results, "'ha\\x0ard'");
}

}  // namespace
}  // namespace sharpmax::report
