// Laws of retrieve() and fit(): results survive JSON, runs side by side do not meet, a resumed run is the whole one.
#include <gtest/gtest.h>

#include <latch>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/files.h"
#include "support/retrieval_requests.h"

namespace sharpmax::test {
namespace {

// Without what differs from one call to the next.
std::string found_by(const RetrievalRequest& request) {
  Json json = to_json(retrieve(request));
  for (const char* key : {"created", "seconds", "command"}) json.erase(key);
  return json.dump();
}

TEST(RetrievalJobLaws, AResultReadFromItsJsonHasTheSameJsonAndCsv) {
  const Folder folder("retrieval-json");
  const RetrievalResult result = retrieve(short_run("sharp", folder / "run"));
  const std::string text = to_json(result).dump();
  const RetrievalResult again = retrieval_result(Json::parse(text));
  EXPECT_EQ(to_json(again).dump(), text);
  EXPECT_EQ(to_json(retrieval_result(to_json(result))).dump(), text);
  EXPECT_EQ(to_csv(again), to_csv(result));
  EXPECT_EQ(again.settings.arms[0].training, result.settings.arms[0].training);
  EXPECT_EQ(Json::parse(contents(folder / "run/results.json")).dump(), text);
}

TEST(RetrievalJobLaws, AFitReadFromItsJsonHasTheSameJson) {
  const Folder folder("fit-json");
  retrieve(short_run("paper", folder / "run"));
  const FitResult result = fit(short_fit(folder / "run/heads/paper-1.safetensors"));
  EXPECT_EQ(result.head.seed, 1u);
  EXPECT_EQ(result.fitted.size(), static_cast<std::size_t>(result.points));
  const std::string text = to_json(result).dump();
  EXPECT_EQ(to_json(fit_result(Json::parse(text))).dump(), text);
  EXPECT_EQ(to_json(fit_result(to_json(result))).dump(), text);
}

TEST(RetrievalJobLaws, TwoRunsAtTheSameTimeFindWhatEachFindsAlone) {
  const Folder folder("retrieval-side-by-side");
  const std::string arms[] = {"paper", "sharp"};
  std::string alone[2], together[2];
  for (int i = 0; i < 2; ++i) alone[i] = found_by(short_run(arms[i], folder / ("alone-" + arms[i])));
  std::latch start(2);
  const auto run = [&](int i) {
    start.arrive_and_wait();
    together[i] = found_by(short_run(arms[i], folder / ("together-" + arms[i])));
  };
  {
    const std::jthread one(run, 0), other(run, 1);
  }
  EXPECT_NE(alone[0], alone[1]);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(together[i], alone[i]) << arms[i];
}

TEST(RetrievalJobLaws, ARunThatItsListenerEndedGoesOnToTheSameResults) {
  const Folder folder("retrieval-resumed");
  struct Impatient : Listener {
    int pauses = 0;
    Resumption resumption;
    void on_pause() override {
      if (++pauses == 2) throw Interrupted{};
    }
    void on_resumption(const Resumption& told) override { resumption = told; }
  } impatient;
  struct Attentive : Listener {
    std::string said;
    void on_narration(std::string_view sentence) override { said += sentence; }
  } attentive;
  RetrievalRequest request = short_run("paper", folder / "run");
  request.training.steps = 400;
  EXPECT_THROW(retrieve(request, impatient), Interrupted);
  EXPECT_TRUE(impatient.resumption.possible);
  EXPECT_EQ(impatient.resumption.directory, request.directory);
  request.resume = true;
  retrieve(request, attentive);
  EXPECT_NE(attentive.said.find("resuming: "), std::string::npos) << attentive.said;
  RetrievalRequest whole = request;
  whole.resume = false;
  whole.directory = (folder / "whole").string();
  EXPECT_EQ(found_by(request), found_by(whole));
}

TEST(RetrievalJobLaws, AChangeOfTheTrainingReachesEveryArmAndItsNormalizerIsTested) {
  const Folder folder("retrieval-changes");
  RetrievalRequest request = short_run("paper,sharp", folder / "run");
  request.training.normalizer = Ssmax{};
  request.training.precision = retrieval::Precision::float64;
  const RetrievalResult result = retrieve(request);
  ASSERT_EQ(result.settings.arms.size(), 2u);
  for (const retrieval::Arm& arm : result.settings.arms) {
    EXPECT_EQ(arm.training.steps, 40);
    EXPECT_EQ(arm.training.normalizer, AnyNormalizer(Ssmax{}));
    EXPECT_EQ(arm.training.precision, retrieval::Precision::float64);
  }
  EXPECT_EQ(result.settings.test.normalizers.back(), AnyNormalizer(Ssmax{}));
  EXPECT_EQ(result.provenance.command.find("sharpmax retrieve --arms paper,sharp --seeds 2 --threads 2 --directory "), 0u)
      << result.provenance.command;
  EXPECT_NE(result.provenance.command.find(" --train-normalizer ssmax "), std::string::npos);
  EXPECT_NE(result.provenance.command.find(" --normalizers 'softmax;adaptive;sigmoid;entropy_target:nats=0.1'"),
            std::string::npos);
}

}  // namespace
}  // namespace sharpmax::test
