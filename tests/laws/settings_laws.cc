// Settings of results: every field of a request that the outcome depends on stands among them, under its own name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "job/json_members.h"
#include "sharpmax/analysis.h"
#include "sharpmax/audit.h"
#include "sharpmax/bound.h"
#include "sharpmax/fit.h"
#include "sharpmax/fix.h"
#include "sharpmax/generate.h"
#include "sharpmax/perplexity.h"
#include "sharpmax/probe.h"

namespace sharpmax::test {
namespace {

// Fields of which results say more than was asked for, or which they name unless they are the default, and fields that they do
// not depend on.
bool is_told_otherwise(const Field& field) {
  static const std::set<std::string_view> names = {"model", "context", "products", "block", "threads", "resume", "overwrite",
                                                   "join", "by_layer", "together", "patience", "checkpoint_seconds"};
  return names.contains(field.name) || field.kind == Field::Kind::output || field.kind == Field::Kind::memory;
}

template <class Request>
void expect_settings(const Json& settings, const Json& of_model) {
  const Request plain;
  Request::each_field(plain, [&](const Field& field, const auto& value) {
    if (is_told_otherwise(field)) return;
    const std::string name(field.name == "for_" ? "for" : field.name);
    ASSERT_TRUE(settings.contains(name) || of_model.contains(name)) << name;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>) {
      EXPECT_EQ(settings.at(name).template get<double>(), value) << name;
    }
  });
}

template <class Request, class Result>
void expect_settings_of_a_model(const Result& result) {
  const Json settings = to_json(result).at("settings");
  expect_settings<Request>(settings, settings.at("model"));
}

TEST(SettingsOfResults, HaveEveryFieldThatTheOutcomeDependsOnUnderItsName) {
  expect_settings_of_a_model<PerplexityRequest>(PerplexityResult{});
  expect_settings_of_a_model<AuditRequest>(AuditResult{});
  expect_settings_of_a_model<AnalysisRequest>(AnalysisResult{});
  expect_settings_of_a_model<ProbeRequest>(ProbeResult{});
  expect_settings_of_a_model<FixRequest>(FixResult{});
  Json fit = to_json(FitResult{});
  fit["settings"]["head"] = fit.at("head");
  expect_settings<FitRequest>(fit.at("settings"), Json::object());
  const Json bound = to_json(ModelBoundResult{});
  expect_settings<ModelBoundRequest>(bound, bound.at("model"));
}

TEST(SettingsOfResults, NameProductsThatAreNotOfFloats) {
  PerplexityResult result;
  const auto of_model = [&] { return to_json(result).at("settings").at("model"); };
  EXPECT_FALSE(of_model().contains("products"));
  result.settings.model.products = "int16";
  EXPECT_EQ(of_model().at("products"), "int16");
}

TEST(SettingsOfResults, OfBoundsAndOfGeneratedTextAreChoices) {
  const Json bound = to_json(BoundResult{});
  const BoundRequest asked;
  BoundRequest::each_choice(asked, [&](const Field& field, const auto&) { EXPECT_TRUE(bound.contains(field.name)) << field.name; });
  const Json sampling = to_json(GenerateResult{}).at("sampling");
  const GenerateRequest drawn;
  GenerateRequest::each_draw(drawn,
                             [&](const Field& field, const auto&) { EXPECT_TRUE(sampling.contains(field.name)) << field.name; });
}

TEST(SettingsOfResults, ReadBackToTheSameAndNameFilesWithoutTheirContents) {
  FixResult result;
  result.settings.model.normalizers = R"({"default":"softmax"})";
  result.settings.model.rope_scaling = "ntk:2";
  result.settings.for_ = "task";
  result.settings.rule = {"beta=1.5", "ssmax"};
  result.settings.text.text_string = "a secret";
  const Json json = to_json(result);
  const Json& settings = json.at("settings");
  EXPECT_EQ(json.dump().find("secret"), std::string::npos);
  EXPECT_EQ(settings.at("for"), "task");
  EXPECT_TRUE(settings.at("text").is_null() && settings.at("model").at("normalizer").is_null());
  EXPECT_EQ(settings.at("model").at("normalizers").at("default"), "softmax");
  EXPECT_EQ(to_json(fix_result(json)).dump(), json.dump());
}

}  // namespace
}  // namespace sharpmax::test
