// Training one transformer: bits are equal for any number of threads, and a state goes on as if nothing had
// happened.
#include <gtest/gtest.h>

#include "train/training/trainer.h"

namespace sharpmax::train {
namespace {

TrainingPlan plan_of(const std::string& task, const Arm& arm) {
  TrainingPlan plan{.task = complete(task_kind(task), {.keys = 64}),
                    .decoder = task_kind(task).decoder,
                    .arm = arm,
                    .seed = 2};
  plan.decoder.width = 40;
  plan.decoder.head_width = 16;
  plan.optimizer.steps = 6;
  plan.optimizer.batch = 12;
  plan.optimizer.warm_up = 2;
  return plan;
}

TrainingState after(const TrainingPlan& plan, int threads) {
  Trainer trainer(plan, threads);
  while (!trainer.finished()) trainer.step();
  return trainer.state();
}

TEST(TrainThreads, BitsOfATrainingDoNotDependOnTheNumberOfThreads) {
  const Arm arms[] = {{.name = "ssmax", .normalizer = "ssmax:s=0.36"},
                      {.name = "late", .normalizer = "softmax", .later = "entropy_target"}};
  for (const std::string task : {"lookup", "recall"}) {
    for (const Arm& arm : arms) {
      SCOPED_TRACE(task + " " + arm.name);
      const TrainingPlan plan = plan_of(task, arm);
      const TrainingState one = after(plan, 1);
      EXPECT_EQ(one, after(plan, 2));
      EXPECT_EQ(one, after(plan, 3));
    }
  }
}

TEST(TrainSteps, AStateGoesOnAsIfNothingHadHappened) {
  const Arm arms[] = {{.name = "ssmax", .normalizer = "ssmax:s=0.36"},
                      {.name = "late", .normalizer = "ssmax:s=0.36", .later = "asentmax:beta=0"},
                      {.name = "tuned", .normalizer = "softmax", .later = "ssmax:s=0.36", .after = true}};
  for (const Arm& arm : arms) {
    SCOPED_TRACE(arm.name);
    TrainingPlan plan = plan_of("recall", arm);
    plan.optimizer.steps = 4;
    const TrainingState whole = after(plan, 1);
    EXPECT_EQ(whole.step, arm.after ? 6 : 4);
    for (std::int64_t cut = 0; cut <= whole.step; ++cut) {
      Trainer first(plan, 1);
      while (first.state().step < cut) first.step();
      Trainer second(plan, 1, first.state());
      while (!second.finished()) second.step();
      EXPECT_EQ(second.state(), whole) << "cut at step " << cut;
    }
  }
}

TEST(TrainSteps, ADivergingLossIsToldWithItsStepAndTheStateBeforeItIsKept) {
  TrainingPlan plan = plan_of("lookup", {.name = "softmax", .normalizer = "softmax"});
  plan.optimizer.learning_rate = 1e30;
  plan.optimizer.steps = 50;
  Trainer trainer(plan, 1);
  TrainingState good = trainer.state();
  try {
    while (!trainer.finished()) {
      good = trainer.state();
      trainer.step();
    }
    FAIL() << "a learning rate of 1e30 went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("diverged at step " + std::to_string(good.step)),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(trainer.state(), good);
}

// Entropy and right answers of every head and question under a rule.
Answers answered(const TrainingPlan& plan, const Decoder<float>::Rule& rule) {
  const auto task = task_kind(plan.task.task).make(plan.task);
  const std::vector<float> parameters = initial_parameters(plan.decoder, task->shape(), plan.seed);
  Batch batch;
  draw_batch(*task, {.seed = 3, .purpose = Purpose::test, .count = 4, .size = 24}, batch);
  Answers found;
  Decoder<float>(plan.decoder, task->shape(), 1)
      .answer(parameters, std::span(&rule, 1), batch, Watch::heads, [&](std::size_t, const Answers& a) { found = a; });
  return found;
}

TEST(TrainRules, ATableOfOneNormalizerIsThatNormalizerAndOtherwiseEachHeadHasItsOwn) {
  TrainingPlan plan = plan_of("minimum", {.name = "softmax", .normalizer = "softmax"});
  plan.decoder.heads = 3;
  const auto layers = static_cast<std::size_t>(plan.decoder.layers);
  for (const AnyNormalizer& one : {AnyNormalizer(Softmax{}), AnyNormalizer(EntropyTarget{}), AnyNormalizer(Hard{})}) {
    const Answers all = answered(plan, {layers, {one}}), table = answered(plan, {layers, {one, one, one}});
    EXPECT_EQ(all.loss, table.loss) << one.text();
    EXPECT_EQ(all.right, table.right) << one.text();
    for (std::size_t i = 0; i < all.heads.size(); ++i) EXPECT_EQ(all.heads[i].entropy, table.heads[i].entropy) << one.text();
  }
  const Answers mixed = answered(plan, {layers, {Softmax{}, Hard{}, Softmax{}}});
  for (std::size_t i = 0; i < mixed.heads.size(); ++i)
    EXPECT_EQ(mixed.heads[i].entropy == 0.0, i % 3 == 1) << "head " << i;
}

TEST(TrainRules, HeadsOfALocalLayerSeeNothingBeyondTheirWindow) {
  TrainingPlan plan = plan_of("recall", {.name = "softmax", .normalizer = "softmax"});
  plan.decoder = {.layers = 2, .width = 16, .heads = 2, .local_layers = 1, .head_width = 8, .window = 2};
  const auto layers = static_cast<std::size_t>(plan.decoder.layers);
  const Answers answers = answered(plan, {layers, {Softmax{}}});
  EXPECT_EQ(answers.heads.size(), 2u);  // of the second layer alone
  EXPECT_EQ(answers.loss, answered(plan, {{Hard{}}, {Softmax{}}}).loss) << "a rule reached a local layer";
  EXPECT_NE(answers.loss, answered(plan, {{Softmax{}}, {Hard{}}}).loss);
}

}  // namespace
}  // namespace sharpmax::train
