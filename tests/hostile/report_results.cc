// Results that are not what the report reads are refused with one sentence; odd but legal ones are not.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "report/kind/kinds.h"
#include "report/svg/figures.h"
#include "report/view/written.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

Json small_results() {
  return Json::parse(R"({
    "schema": "sharpmax.retrieval/1", "sharpmax": "0", "command": "c", "created": "d", "seconds": {}, "preset": "quick",
    "settings": {}, "arms": [{"name": "a", "training": {"largest_size": 16, "classes": 10}}],
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

void expect_results_refused(const Json& results, const std::string& word) {
  try {
    view_of(results);
    FAIL() << "not refused: " << word;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_EQ(std::string(error.what()).find("report: "), 0u) << error.what();
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

const Json& item_of(const Json& view, const char* section, std::size_t place = 0) {
  for (const Json& one : view.at("sections"))
    if (one.at("id") == section) return one.at("items").at(place);
  throw std::out_of_range(section);
}

TEST(ReportResults, CountsAreSummedMeansSkipWhatWasNotMeasuredAndExtremesStay) {
  const Json view = to_json(view_of(small_results()));
  const Json& table = item_of(view, "numbers");
  Json row;
  for (std::size_t i = 0; i < table.at("columns").size(); ++i)
    row[table.at("columns")[i].at("name").get<std::string>()] = table.at("rows")[0][i];
  EXPECT_EQ(row.at("sets"), 8);
  EXPECT_EQ(row.at("temperature β"), 2.0);
  EXPECT_EQ(row.at("score spread"), 2.0);
  EXPECT_EQ(row.at("largest weight"), 0.5);
  EXPECT_TRUE(row.at("its bound").is_null());
  const Json& bars = item_of(view, "failure").at("options")[0].at("items")[0].at("options")[0].at("items")[0];
  EXPECT_EQ(bars.at("bars")[0].at("pieces")[0][0], 3.0 / 8.0);  // both right
  EXPECT_EQ(bars.at("bars")[0].at("pieces")[2][0], 1.0 / 8.0);  // dispersion
  const Json& panel = item_of(view, "heat-maps").at("lines")[0].at("panels")[0];
  EXPECT_EQ(panel.at("thousandths"), Json::parse("[250, 500, null, 1000]"));
  EXPECT_EQ(panel.at("below"), 0.75);
}

TEST(ReportResults, AnotherSchemaIsNamed) {
  Json results = small_results();
  results["schema"] = "sharpmax.retrieval/2";
  expect_results_refused(results, "sharpmax.retrieval/2");
}

TEST(ReportResults, EachMissingFieldIsRefused) {
  const Json whole = small_results();
  for (const auto& [name, value] : whole.items()) {
    if (name == "created" || name == "seconds" || name == "settings") continue;  // only told where they are
    Json results = whole;
    results.erase(name);
    expect_results_refused(results, name);
  }
  for (const char* list : {"results", "summary", "heads", "heat_maps"})
    for (const auto& [name, value] : whole.at(list)[0].items()) {
      Json results = whole;
      results[list][0].erase(name);
      // Nothing is shown of these: seeds are summed over, sets and items of a map are those of its weights.
      const std::string place = std::string(list) + "/" + name;
      if (place == "results/seed" || place == "heads/normalizer" || place == "heat_maps/sets" || place == "heat_maps/items") continue;
      expect_results_refused(results, "report: ");
    }
}

TEST(ReportResults, FieldsOfAnotherKindAreRefused) {
  expect_results_refused(Json::parse("[]"), "schema");
  expect_results_refused(Json::parse("null"), "schema");
  Json results = small_results();
  results["results"][0]["sets"] = "many";
  expect_results_refused(results, "type must be number, but is string");
}

TEST(ReportResults, PublishedFiguresMayHaveTheFieldOfEarlierVersions) {
  Json results = small_results();
  results["published"] = Json::parse(R"([{"normalizer": "softmax", "n": 16, "accuracy": 0.5, "remembered": true}])");
  EXPECT_FALSE(figures_in(view_of(results)).empty());
}

TEST(ReportResults, ASummaryOfWhatWasNotMeasuredIsRefused) {
  Json results = small_results();
  results["summary"][0]["normalizer"] = "ha\nrd";
  expect_results_refused(results, "'ha\\x0ard'");
}

}  // namespace
}  // namespace sharpmax::report
