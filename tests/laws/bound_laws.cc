// Laws of bound() and bound_model(): results come back from their JSON, and say what the theory says.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "job/saved_results.h"
#include "sharpmax/bound.h"
#include "sharpmax/report.h"
#include "support/files.h"
#include "support/tiny_model.h"
#include "theory/dispersion.h"
#include "theory/peak_range.h"

namespace sharpmax::test {
namespace {

TEST(BoundLaws, ResultsComeBackFromTheirJson) {
  for (const auto& peak : {std::optional<double>(), std::optional<double>(0.3)}) {
    const BoundRequest request{.spread = 5.69, .n = {1, 16, 1e300}, .peak = peak, .beta = 2, .level = -20.0};
    const Json json = to_json(bound(request));
    EXPECT_EQ(to_json(bound_result(Json::parse(json.dump()))).dump(), json.dump());
    EXPECT_EQ(json.at("schema"), kBoundSchema);
  }
}

TEST(BoundLaws, NumbersAreThoseOfTheTheory) {
  const BoundResult result = bound({.spread = 3.0, .n = {16, 4096}, .normalizer = {"softmax", "ssmax:s=0.4"}, .peak = 0.5});
  ASSERT_EQ(result.normalizers.size(), 2u);
  for (const NormalizerBounds& bounds : result.normalizers) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(bounds.normalizer);
    ASSERT_EQ(bounds.ranges.size(), 2u);
    for (const PeakBound& range : bounds.ranges)
      EXPECT_EQ(range.share.high, theory::peak_range(normalizer, range.n, theory::centred(3.0)).share.high);
    EXPECT_EQ(bounds.loss->lost, theory::peak_loss(normalizer, 0.5, theory::centred(3.0)).lost);
  }
  EXPECT_EQ(result.softmax[1].tight.high, theory::dispersion_range(3.0, 4096).high);
}

TEST(BoundLaws, TheCommandOfAResultAsksForTheSame) {
  const BoundResult result = bound({.spread = 3.0, .n = {16, 1e6}, .normalizer = {"softmax"}, .level = -1.5});
  EXPECT_EQ(result.provenance.command, "sharpmax bound --spread 3 --level=-1.5 --n 16,1000000 --normalizer softmax");
}

TEST(BoundLaws, FiguresAndTablesInMemoryAreThoseOfTheFiles) {
  const Folder folder("bound-report");
  const Json results = to_json(bound({.spread = 3.0, .n = {16, 4096}, .peak = 0.5}));
  put(folder / "bound.json", results.dump());
  write_report({.results = {folder / "bound.json"}, .files = {.figures = folder / "f", .tables = folder / "t"}});
  const auto figures = report_figures({&results, 1});
  const auto tables = report_tables({&results, 1});
  ASSERT_EQ(figures.size(), 2u);
  ASSERT_GE(tables.size(), 2u);
  for (const Figure& figure : figures) EXPECT_EQ(contents(folder / ("f/" + figure.name + ".svg")), figure.svg);
  const std::string all = contents(folder / "t/tables.md");
  for (const ReportTable& table : tables) {
    EXPECT_EQ(contents(folder / ("t/" + table.name + ".csv")), table.csv);
    EXPECT_NE(all.find("## " + table.title + "\n\n" + table.markdown), std::string::npos);
  }
}

class BoundOfAModel : public testing::Test {
 protected:
  BoundOfAModel() { TinyModel{.vocabulary = 256, .reads_bytes = true}.write(folder_ / "m.gguf"); }
  ModelBoundRequest request() const { return {.model = {.model = folder_ / "m.gguf"}}; }
  Folder folder_{"bound-of-a-model"};
};

TEST_F(BoundOfAModel, ResultsComeBackFromTheirJsonAndFile) {
  ModelBoundRequest asked = request();
  asked.file.json = folder_ / "bound.json";
  const std::string text = results_text(to_json(bound_model(asked)));  // some tokens are half a character
  EXPECT_EQ(results_text(to_json(model_bound_result(Json::parse(text)))), text);
  EXPECT_EQ(contents(folder_ / "bound.json"), text);
  EXPECT_EQ(Json::parse(text).at("schema"), kModelBoundSchema);
}

TEST_F(BoundOfAModel, AnOpenedModelGivesTheBoundsOfItsFile) {
  const ModelBoundResult by_path = bound_model(request());
  const Model opened(request().model);
  const ModelBoundResult by_model = bound_model({.model = opened.request()});
  EXPECT_EQ(by_path.verdict, by_model.verdict);
  ASSERT_EQ(by_path.heads.size(), 8u);
  for (std::size_t i = 0; i < by_path.heads.size(); ++i) {
    EXPECT_EQ(by_path.heads[i].spread, by_model.heads[i].spread);
    EXPECT_EQ(by_path.heads[i].attained.has_value(), i < 4);
  }
}

}  // namespace
}  // namespace sharpmax::test
