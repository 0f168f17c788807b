// Training one transformer: bits are equal for any number of threads, and a state goes on as if nothing had
// happened.
#include <gtest/gtest.h>

#include <cmath>

#include "base/numbers.h"
#include "train/testing/evaluation.h"
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

// A model of zeros loses the same under every normalizer.
TEST(TrainChoice, OfNormalizersThatLoseTheSameOneThatHoldsItsPeakIsChosen) {
  const TrainingPlan plan = plan_of("recall", {.name = "softmax", .normalizer = "softmax"});
  const auto task = task_kind("recall").make(plan.task);
  const std::vector<float> zeros(initial_parameters(plan.decoder, task->shape(), 0).size());
  const auto chosen_of = [&](const std::vector<std::string>& candidates) {
    return choose(zeros, {.task = task.get(),
                          .decoder = plan.decoder,
                          .sizes = {8},
                          .own = std::vector<AnyNormalizer>(to_size(plan.decoder.layers), AnyNormalizer::parse("softmax")),
                          .candidates = candidates,
                          .threads = 1,
                          .progress = {}});
  };
  const ChosenTable table = chosen_of({"softmax", "adaptive", "entropy_target"});
  EXPECT_EQ(table.loss, table.loss_own);
  for (const ChosenHead& head : table.heads) EXPECT_EQ(head.normalizer, "entropy_target");
  for (const ChosenHead& head : chosen_of({"adaptive"}).heads) EXPECT_EQ(head.normalizer, "softmax") << "nothing is gained";
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

// Tokens that a step does not read move on with their moments, though nobody looks at their gradient.
TEST(TrainSteps, AStepMovesEveryParameterAsAdamDoesWithTheWholeGradient) {
  for (const std::string task : {"lookup", "recall"}) {
    SCOPED_TRACE(task);
    TrainingPlan plan = plan_of(task, {.name = "softmax", .normalizer = "softmax"});
    plan.task.keys = 200;
    plan.optimizer.batch = 2;
    Trainer trainer(plan, 2);
    while (!trainer.finished()) {
      TrainingState expected = trainer.state();
      const StepReport report = trainer.step();
      const double t = static_cast<double>(trainer.state().step);
      const OptimizerSettings& s = plan.optimizer;
      const learning::AdamStep step{.learning_rate = trainer.course().learning_rate_at(expected.step),
                                    .weight_decay = 0.0,
                                    .beta1 = s.beta1,
                                    .beta2 = s.beta2,
                                    .epsilon = s.epsilon,
                                    .correction1 = 1.0 / (1.0 - std::pow(s.beta1, t)),
                                    .correction2 = 1.0 / (1.0 - std::pow(s.beta2, t)),
                                    .gradient_scale = report.gradient_norm > s.clip ? s.clip / report.gradient_norm : 1.0};
      learning::adam(step, trainer.gradient().data(), expected.parameters.size(), expected.parameters.data(),
                     expected.first_moment.data(), expected.second_moment.data());
      double squares = 0.0;
      for (const float g : trainer.gradient()) squares += static_cast<double>(g) * static_cast<double>(g);
      EXPECT_NEAR(report.gradient_norm, std::sqrt(squares), 1e-6 * std::sqrt(squares));
      EXPECT_EQ(trainer.state().parameters, expected.parameters) << "step " << t;
      EXPECT_EQ(trainer.state().first_moment, expected.first_moment) << "step " << t;
      EXPECT_EQ(trainer.state().second_moment, expected.second_moment) << "step " << t;
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

// Losses, right answers and what every head did, under several rules one after another.
std::vector<Answers> answered_in_turn(const TrainingPlan& plan, const std::vector<Decoder<float>::Rule>& rules) {
  const auto task = task_kind(plan.task.task).make(plan.task);
  const std::vector<float> parameters = initial_parameters(plan.decoder, task->shape(), plan.seed);
  Batch batch;
  draw_batch(*task, {.seed = 3, .purpose = Purpose::test, .count = 4, .size = 24}, batch);
  std::vector<Answers> found;
  Decoder<float>(plan.decoder, task->shape(), 1)
      .answer(parameters, rules, batch, Watch::heads, [&](std::size_t, const Answers& a) { found.push_back(a); });
  return found;
}
Answers answered(const TrainingPlan& plan, const Decoder<float>::Rule& rule) {
  return answered_in_turn(plan, std::vector<Decoder<float>::Rule>(1, rule)).front();
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

// What does not depend on the rule is computed once: local layers, and what the layer after them reads.
TEST(TrainRules, ARuleAnswersTheSameAloneAndAfterOthers) {
  for (const std::int64_t local_layers : {0, 1, 2}) {
    SCOPED_TRACE(local_layers);
    TrainingPlan plan = plan_of("recall", {.name = "softmax", .normalizer = "softmax"});
    plan.decoder = {.layers = 3, .width = 16, .heads = 2, .local_layers = local_layers, .head_width = 8, .window = 2};
    const std::vector<Decoder<float>::Rule> rules = {{3, {Softmax{}}}, {3, {Hard{}}}, {3, {EntropyTarget{}, Softmax{}}}, {3, {Softmax{}}}};
    const std::vector<Answers> together = answered_in_turn(plan, rules);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const Answers alone = answered(plan, rules[i]);
      EXPECT_EQ(together[i].loss, alone.loss) << "rule " << i;
      EXPECT_EQ(together[i].right, alone.right) << "rule " << i;
      ASSERT_EQ(together[i].heads.size(), to_size(2 * (3 - local_layers)));
      for (std::size_t h = 0; h < alone.heads.size(); ++h) EXPECT_EQ(together[i].heads[h].entropy, alone.heads[h].entropy);
    }
    EXPECT_NE(together[0].loss, together[1].loss);
  }
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
