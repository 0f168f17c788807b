// Laws of fix() as a job: its results come back from their JSON, it goes on where it was interrupted, and a model that is
// shared stays as it was.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "model/transformer/session.h"
#include "sharpmax/fix.h"
#include "support/tiny_model.h"

namespace sharpmax::test {
namespace {

// Interrupts a job when so many progress lines were heard.
class Impatient : public Listener {
 public:
  explicit Impatient(int lines) : left_(lines) {}
  void on_progress(std::string_view) override {
    if (--left_ < 0) throw Interrupted{};
  }
  void on_resumption(const Resumption& resumption) override { resumption_ = resumption; }
  const Resumption& resumption() const { return resumption_; }

 private:
  int left_;
  Resumption resumption_;
};

class FixOfAModel : public testing::Test {
 protected:
  FixOfAModel() {
    TinyModel{.context = 128, .vocabulary = 256, .reads_bytes = true}.write(folder_ / "m.gguf");
    std::string text, task;
    for (int i = 0; i < 40; ++i) text += "It was the age of wisdom " + std::to_string(i) + ". ";
    for (int i = 0; i < 6; ++i) task += "{\"prompt\": \"It was " + std::to_string(i) + "\", \"answer\": \"a\"}\n";
    put(folder_ / "text.txt", text);
    put(folder_ / "task.jsonl", task);
  }

  FixRequest request() const {
    FixRequest request;
    request.model.model = folder_ / "m.gguf";
    request.text.text = folder_ / "text.txt";
    request.task = folder_ / "task.jsonl";
    request.tokens = 100;
    request.length = 64;
    request.rule = {"softmax:beta=1.5", "softmax:beta=1.2@but-steepest;rope=linear:2"};
    request.budget = 2;
    request.for_ = "text";
    return request;
  }
  static std::string trials_of(const FixResult& result) { return to_json(result).at("trials").dump(); }

  Folder folder_{"fix-of-a-model"};
};

TEST_F(FixOfAModel, ResultsComeBackFromTheirJsonAndFile) {
  FixRequest asked = request();
  asked.saving.json = folder_ / "fix.json";
  asked.table = folder_ / "table.json";
  const FixResult result = fix(asked);
  const Json json = to_json(result);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.trials.size(), 5u);
  EXPECT_EQ(to_json(fix_result(Json::parse(json.dump()))).dump(), json.dump());
  EXPECT_EQ(Json::parse(contents(folder_ / "fix.json")).dump(), Json::parse(json.dump()).dump());
  EXPECT_EQ(Json::parse(contents(folder_ / "table.json")).dump(), result.trials[result.use()].normalizers);
}

TEST_F(FixOfAModel, AnInterruptedJobGoesOnToTheSameAnswer) {
  const FixResult whole = fix(request());
  FixRequest asked = request();
  asked.saving.json = folder_ / "cut.json";
  Impatient listener(400);
  EXPECT_THROW(fix(asked, listener), Interrupted);
  EXPECT_TRUE(listener.resumption().possible);
  const Json cut = Json::parse(contents(folder_ / "cut.json"));
  const FixResult read = fix_result(cut);
  EXPECT_FALSE(read.complete);
  EXPECT_GE(read.trials.size(), 1u);
  EXPECT_LT(read.trials.size(), whole.trials.size());
  EXPECT_EQ(to_json(read).dump(), cut.dump());
  asked.saving.resume = true;
  EXPECT_EQ(trials_of(fix(asked)), trials_of(whole));
}

TEST_F(FixOfAModel, AnOpenedModelServesSeveralJobsAndStaysAsItWas) {
  const Model opened(request().model);
  const model::RopeScaling before = opened.internals().configuration().rope.scaling;
  FixRequest shared = request();
  shared.model = opened.request();
  FixResult one, other;
  std::thread beside([&] { other = fix(shared); });
  one = fix(shared);
  beside.join();
  EXPECT_EQ(opened.internals().configuration().rope.scaling, before);
  const FixResult by_path = fix(request());
  EXPECT_EQ(trials_of(one), trials_of(by_path));
  EXPECT_EQ(trials_of(other), trials_of(by_path));
}

TEST_F(FixOfAModel, ARuleOfPositionsIsMeasuredAsAModelOpenedWithThem) {
  FixRequest turned = request();
  turned.rule = {"rope=linear:2"};
  turned.budget = 1;
  const FixResult ruled = fix(turned);
  turned.model.rope_scaling = "linear:2";
  const FixResult opened = fix(turned);
  EXPECT_EQ(ruled.trials[1].tuning, opened.trials[0].tuning);
  EXPECT_FALSE(ruled.trials[1].tuning == ruled.trials[0].tuning);
}

TEST_F(FixOfAModel, TheCommandOfAResultAsksForTheSame) {
  const std::string command = fix(request()).provenance.command;
  EXPECT_NE(command.find(" --rule softmax:beta=1.5 --rule 'softmax:beta=1.2@but-steepest;rope=linear:2' --for text"),
            std::string::npos)
      << command;
}

}  // namespace
}  // namespace sharpmax::test
