// What training brings, with margins wide enough that only a broken trainer misses them; and that a run is a
// function of its settings and seed. Fixed seeds, small heads.
#include <gtest/gtest.h>

#include <thread>

#include "retrieval/testing/evaluation.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

Head trained(const TrainingSettings& settings, std::uint64_t seed) {
  Trainer trainer(settings, seed);
  while (trainer.steps_done() < settings.steps) trainer.step();
  return trainer.head();
}

double accuracy(const Head& head, const AnyNormalizer& normalizer, std::int64_t n, std::int64_t sets) {
  const std::vector<AnyNormalizer> one = {normalizer};
  return evaluate(head, {.n = n, .sets = sets, .normalizers = one}).measurements[0].accuracy();
}

double entropy(const Head& head, const AnyNormalizer& normalizer, std::int64_t n, std::int64_t sets) {
  const std::vector<AnyNormalizer> one = {normalizer};
  return evaluate(head, {.n = n, .sets = sets, .normalizers = one}).measurements[0].entropy;
}

// Chance is 0.1. 512 sets at 16 items: a true 0.9 falls below 0.8 less than once in 10^10 runs.
TEST(RetrievalTraining, AShortOneLearnsTheTaskAtSixteenItemsAndSoftmaxDispersesAtThousands) {
  TrainingSettings settings;
  settings.width = 32;
  settings.steps = 3000;
  const Head head = trained(settings, 3);
  EXPECT_GT(accuracy(head, Softmax{}, 16, 512), 0.8);
  EXPECT_LT(accuracy(head, Softmax{}, 4096, 256), 0.5);
  EXPECT_GT(entropy(head, Softmax{}, 4096, 64), entropy(head, Softmax{}, 16, 512) + 1.0);
}

TEST(RetrievalTraining, TheSharpRecipeHoldsAtAThousandItemsWhereSoftmaxWithTheSameWeightsIsLost) {
  TrainingSettings settings = named_arm("sharp").training;
  settings.width = 32;
  settings.steps = 4000;
  settings.least_width = 1e-6;  // resolution enough for this size, in a tenth of the steps
  settings.final_learning_rate = 1e-6;
  const Head head = trained(settings, 3);
  EXPECT_GT(accuracy(head, EntropyTarget{.nats = 0.1}, 1024, 512), 0.6);
  EXPECT_LT(accuracy(head, Softmax{}, 1024, 512), 0.4);
}

TEST(RetrievalTraining, ParametersOfTheNormalizerAreLearnedAndStayWithinTheirDomain) {
  for (const char* text : {"ssmax", "asentmax", "entmax:alpha=1.9", "sink", "sigmoid:b=-2", "top_k"}) {
    TrainingSettings settings;
    settings.width = 8;
    settings.steps = 150;
    settings.learning_rate = 0.02;
    settings.normalizer = AnyNormalizer::parse(text);
    const Head head = trained(settings, 1);
    EXPECT_NE(head.normalizer().text(), settings.normalizer.text()) << text << " was not learned";
    EXPECT_NO_THROW(validate([&] {  // also: still has a backward
      TrainingSettings again = settings;
      again.normalizer = head.normalizer();
      return again;
    }()))
        << text;
  }
}

TEST(RetrievalTraining, GoesOnFromAStateAsIfItHadNeverStopped) {
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    TrainingSettings settings;
    settings.width = 12;
    settings.batch = 24;
    settings.steps = 60;
    settings.precision = precision;
    settings.normalizer = AnyNormalizer::parse("ssmax");
    Trainer whole(settings, 9);
    while (whole.steps_done() < 60) whole.step();
    Trainer first(settings, 9);
    while (first.steps_done() < 23) first.step();
    Trainer second(settings, 9, first.state());
    while (second.steps_done() < 60) second.step();
    EXPECT_EQ(whole.state(), second.state());
  }
}

TEST(RetrievalTraining, HeadsTrainedSideBySideOnThreadsAreThoseTrainedAlone) {
  TrainingSettings settings;
  settings.width = 24;
  settings.batch = 40;
  settings.steps = 40;
  std::vector<std::vector<double>> alone, together(3);
  for (std::uint64_t seed = 0; seed < 3; ++seed) alone.push_back(trained(settings, seed).parameters);
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 3; ++seed)
    threads.emplace_back([&, seed] { together[seed] = trained(settings, seed).parameters; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(alone, together);
  EXPECT_NE(alone[0], alone[1]);
}

TEST(RetrievalTraining, ThatRunsAwayIsReportedNotHidden) {
  TrainingSettings settings;
  settings.width = 8;
  settings.steps = 2000;
  settings.learning_rate = 1e30;
  EXPECT_THROW(trained(settings, 0), Error);
}

}  // namespace
}  // namespace sharpmax::retrieval
