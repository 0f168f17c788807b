// Laws of audits as jobs: results come back from their JSON, jobs share nothing, and what was interrupted goes on.
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "support/audit_jobs.h"

namespace sharpmax::test {
namespace {

TEST(AuditJobLaws, ResultsComeBackFromTheirJson) {
  const TinyAudits tiny("audit-json");
  const std::string audit = to_json(audit_model(tiny.audit())).dump(1);
  EXPECT_EQ(to_json(audit_result(Json::parse(audit))).dump(1), audit);
  const std::string analysis = to_json(analyze_model(tiny.analysis())).dump(1);
  EXPECT_EQ(to_json(analysis_result(Json::parse(analysis))).dump(1), analysis);
  const std::string probe = to_json(probe_model(tiny.probe())).dump(1);
  EXPECT_EQ(to_json(probe_result(Json::parse(probe))).dump(1), probe);
}

// Normalizers without a bound on the peak, weights that do not sum to one, one length alone.
TEST(AuditJobLaws, ResultsWithNullsComeBackToo) {
  const TinyAudits tiny("audit-nulls");
  AuditRequest request = tiny.audit();
  request.model.normalizer = "sigmoid";
  request.lengths = {16};
  const Json audit = to_json(audit_model(request));
  EXPECT_TRUE(audit["attention"]["heads"][0]["peak_bound"][0].is_null());
  EXPECT_TRUE(audit["attention"]["heads"][0]["entropy_slope"].is_null());
  EXPECT_EQ(to_json(audit_result(Json::parse(audit.dump()))).dump(1), audit.dump(1));
  AnalysisRequest hard = tiny.analysis();
  hard.model.normalizer = "hard";
  const Json analysis = to_json(analyze_model(hard));
  EXPECT_TRUE(analysis["analysis"]["gradient"]["points"][0]["bound"].is_null());
  EXPECT_EQ(to_json(analysis_result(Json::parse(analysis.dump()))).dump(1), analysis.dump(1));
}

TEST(AuditJobLaws, ResultsThatAreNotCompleteComeBackToo) {
  const TinyAudits tiny("audit-begun");
  AuditResult audit = audit_model(tiny.audit());
  audit.complete = false;
  audit.findings.reset();
  audit.sketches.reset();
  EXPECT_EQ(stable_text(audit_result(to_json(audit))), stable_text(audit));
  AnalysisResult analysis{.provenance = audit.provenance, .settings = {.model = audit.settings.model, .text = {.text = "a.txt"}}};
  EXPECT_FALSE(analysis.complete());
  EXPECT_EQ(stable_text(analysis_result(to_json(analysis))), stable_text(analysis));
}

// Two jobs in one process, each as it would be alone.
template <class First, class Second>
void expect_undisturbed(const First& first, const Second& second) {
  const std::string first_alone = first(), second_alone = second();
  std::string first_beside, second_beside;
  std::thread other([&] { first_beside = first(); });
  second_beside = second();
  other.join();
  EXPECT_EQ(first_beside, first_alone);
  EXPECT_EQ(second_beside, second_alone);
}

TEST(AuditJobLaws, TwoAtTheSameTimeAreEachAsAlone) {
  const TinyAudits tiny("audit-two"), sharp("audit-sharp", 8);
  expect_undisturbed([&] { return stable_text(audit_model(tiny.audit())); },
                     [&] { return stable_text(audit_model(sharp.audit())); });
  expect_undisturbed([&] { return stable_text(analyze_model(tiny.analysis())); },
                     [&] { return stable_text(analyze_model(sharp.analysis())); });
  expect_undisturbed([&] { return stable_text(probe_model(tiny.probe())); },
                     [&] { return stable_text(audit_model(sharp.audit())); });
}

TEST(AuditJobLaws, AnOpenedModelIsNotOpenedAgain) {
  const TinyAudits tiny("audit-opened");
  const std::string by_path = stable_text(audit_model(tiny.audit()));
  AuditRequest request = tiny.audit();
  request.model = Model(request.model).request();
  std::filesystem::rename(tiny.model(), tiny.file("elsewhere.gguf"));
  EXPECT_EQ(stable_text(audit_model(request)), by_path);
}

// Interrupts a job at the first line of progress that has these words.
class Interrupter : public Listener {
 public:
  explicit Interrupter(std::string words) : words_(std::move(words)) {}
  void on_progress(std::string_view line) override {
    if (line.find(words_) != std::string_view::npos) throw Interrupted{};
  }
  void on_resumption(const Resumption& resumption) override { resumption_ = resumption; }
  void on_narration(std::string_view sentence) override { said_ = sentence; }
  const Resumption& resumption() const { return resumption_; }
  const std::string& said() const { return said_; }

 private:
  std::string words_, said_;
  Resumption resumption_;
};

template <class Request, class Job>
void expect_resumed(Request request, const Job& job, const std::string& at, const std::string& resuming) {
  const std::string whole = stable_text(job(request, nobody()));
  Interrupter interrupter(at), quiet("no such words");
  EXPECT_THROW(job(request, interrupter), Interrupted);
  EXPECT_FALSE(interrupter.resumption().possible);
  EXPECT_NE(spoken(interrupter.resumption().sentence, Speech::python).find("with json= "), std::string::npos);
  request.saving.json = request.model.model + ".json";
  EXPECT_THROW(job(request, interrupter), Interrupted);
  EXPECT_TRUE(interrupter.resumption().possible);
  request.saving.resume = true;
  EXPECT_EQ(stable_text(job(request, quiet)), whole);
  EXPECT_EQ(quiet.said(), resuming);
  EXPECT_EQ(Json::parse(contents(request.saving.json))["complete"], true);
}

TEST(AuditJobLaws, WhatWasInterruptedGoesOnToTheSameAnswer) {
  const TinyAudits tiny("audit-resumed");
  expect_resumed(tiny.audit(), audit_model, "excerpt 2 of 3: 400",
                 "resuming: 1 of 3 excerpts are read; 5 of 9 lengths in all");
  expect_resumed(tiny.probe(), probe_model, "300 tokens: question 2", "resuming: 1 of 2 lengths are measured");
}

TEST(AuditJobLaws, TheCommandAsksForTheSame) {
  const TinyAudits tiny("audit-command");
  AnalysisRequest request = tiny.analysis();
  request.text = {.text = tiny.file("a text.txt"), .tokens = 400};
  put(request.text.text, kTinyText);
  EXPECT_EQ(analyze_model(request).provenance.command,
            "sharpmax audit " + tiny.model() + " --text '" + request.text.text +
                "' --tokens 400 --lengths 16,32,64 --analysis all --tops 1,4,30 --critical-most 20");
}

}  // namespace
}  // namespace sharpmax::test
