// Laws of train_models(): results survive JSON, the number of threads does not matter, the split of failures
// adds up, and hard attention splits against itself into nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "sharpmax/train.h"
#include "support/files.h"

namespace sharpmax::test {
namespace {

TrainRequest short_training(const std::string& task, const std::filesystem::path& directory) {
  TrainRequest request;
  request.task = {.task = task, .keys = 80, .values = 4, .questions = 4};
  request.arms = {"softmax,ssmax"};
  request.directory = directory.string();
  request.decoder = {.width = 16, .head_width = 8};
  request.optimizer = {.steps = 12, .batch = 4};
  request.test = {.sizes = {8, 64}, .answers = 40};
  return request;
}

// Without what differs from one call to the next.
std::string trained_by(const TrainRequest& request) {
  Json json = to_json(train_models(request));
  for (const char* key : {"created", "training_seconds", "testing_seconds", "command"}) json.erase(key);
  return json.dump();
}

TEST(TrainJobLaws, AResultReadFromItsJsonHasTheSameJson) {
  const Folder folder("train-json");
  for (const std::string task : {"lookup", "recall", "majority"}) {
    const TrainResult result = train_models(short_training(task, folder / task));
    const std::string text = to_json(result).dump();
    EXPECT_EQ(to_json(train_result(Json::parse(text))).dump(), text);
    EXPECT_EQ(Json::parse(contents(folder / task / "results.json")).dump(), text);
  }
}

TEST(TrainJobLaws, ThreadsDoNotChangeARun) {
  const Folder folder("train-threads");
  for (const std::string task : {"lookup", "recall"}) {
    std::string first;
    for (const int threads : {1, 2, 3}) {
      TrainRequest request = short_training(task, folder / (task + std::to_string(threads)));
      request.threads = threads;
      const std::string found = trained_by(request);
      if (first.empty()) first = found;
      EXPECT_EQ(found, first) << task << " with " << threads;
    }
  }
}

TEST(TrainJobLaws, TheSplitOfFailuresAddsUpAndWeightsAreWeights) {
  const Folder folder("train-split");
  for (const std::string task : {"lookup", "member", "recall", "majority"}) {
    SCOPED_TRACE(task);
    const TrainResult result = train_models(short_training(task, folder / task));
    // two arms, two sizes, own and five others; own softmax is softmax
    EXPECT_EQ(result.results.size(), 2u * 2u * 6u - 2u);
    for (const TrainMeasurement& m : result.results) {
      EXPECT_GE(m.answers, 40);
      EXPECT_EQ(m.hard_right_rule_right + m.hard_wrong_rule_right, m.right);
      EXPECT_EQ(m.hard_right_rule_right + m.hard_right_rule_wrong + m.hard_wrong_rule_right +
                    m.hard_wrong_rule_wrong,
                m.answers);
      const bool hard = m.normalizer == "hard";
      EXPECT_TRUE(!hard || m.hard_right_rule_wrong + m.hard_wrong_rule_right == 0);
      EXPECT_LE(m.accuracy_low, m.accuracy);
      EXPECT_GE(m.accuracy_high, m.accuracy);
      EXPECT_LE(m.binding, m.hard_wrong_rule_wrong);
      EXPECT_EQ(m.heads.size(), static_cast<std::size_t>(result.settings.decoder.global_layers() *
                                                         result.settings.decoder.global_heads()));
      for (const HeadMeasurement& head : m.heads) {
        EXPECT_EQ(head.fixed.has_value(), m.own);
        EXPECT_LE(head.fixed.value_or(0), m.answers - m.right);
        // with one head, hard attention in it is hard attention
        EXPECT_TRUE(!m.own || m.heads.size() > 1 || head.fixed == m.hard_right_rule_wrong);
        EXPECT_TRUE(!hard || (head.entropy == 0.0 && head.peak_weight == 1.0));
        if (task == "majority") {
          EXPECT_TRUE(std::isnan(head.right_weight));
        } else {
          EXPECT_GE(head.right_weight, 0.0);
          EXPECT_LE(head.right_weight, 1.0);
        }
      }
    }
  }
}

TEST(TrainJobLaws, ATablePerHeadIsChosenAtSmallSizesAndTestedBesideTheOthers) {
  const Folder folder("train-per-head");
  TrainRequest request = short_training("minimum", folder / "run");
  request.arms = {"softmax"};
  request.decoder.heads = 2;
  request.task = {.task = "minimum", .keys = 128, .least_size = 4, .largest_size = 8};
  request.test = {.sizes = {8, 64}, .normalizers = {"softmax", "entropy_target", "hard"}, .answers = 40, .per_head = true};
  const TrainResult result = train_models(request);
  ASSERT_EQ(result.tables.size(), 1u);
  const ChosenTable& table = result.tables.front();
  EXPECT_EQ(table.sizes, (std::vector<std::int64_t>{8, 16, 32}));
  EXPECT_EQ(table.heads.size(), 4u);  // two layers of two heads
  EXPECT_LE(table.loss, table.loss_own);
  for (const ChosenHead& head : table.heads)
    EXPECT_TRUE(head.normalizer == "softmax" || head.normalizer == "entropy_target" || head.normalizer == "hard");
  std::int64_t rows = 0;
  for (const TrainMeasurement& m : result.results) rows += m.normalizer == kPerHead ? 1 : 0;
  EXPECT_EQ(rows, 2);
  EXPECT_TRUE(std::filesystem::exists(folder / "run" / "models" / "softmax-0" / "per-head.json"));
  request.resume = true;
  std::filesystem::remove_all(folder / "run" / "tested");
  EXPECT_EQ(to_json(train_models(request)).at("results").dump(), to_json(result).at("results").dump());
}

TEST(TrainJobLaws, AMixtureIsTestedTaskByTask) {
  const Folder folder("train-mixed");
  TrainRequest request = short_training("mixed", folder / "run");
  request.arms = {"softmax"};
  const TrainResult result = train_models(request);
  ASSERT_EQ(result.subtasks.size(), 4u);
  EXPECT_EQ(result.results.size(), 4u * 2u * 5u);  // tasks, sizes, normalizers: own softmax is softmax
  for (const TrainSubtask& subtask : result.subtasks) {
    std::int64_t rows = 0;
    for (const TrainSummary& row : result.summary) rows += row.subtask == subtask.name ? 1 : 0;
    EXPECT_EQ(rows, 2 * 5) << subtask.name;
  }
}

}  // namespace
}  // namespace sharpmax::test
