// Heads, checkpoints and settings as files: what is saved loads back bit for bit, what is damaged or is not
// what it should be is refused in words.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "retrieval/task/task.h"
#include "retrieval/training/training.h"
#include "sharpmax/error.h"
#include "storage/safetensors.h"
#include "support/files.h"
#include "support/random.h"

namespace sharpmax::test {
namespace {

using namespace retrieval;
using Json = nlohmann::ordered_json;

std::string refusal(const std::function<void()>& action, ErrorCode wanted = ErrorCode::bad_file) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), wanted) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}
void expect_words(const std::string& sentence, const std::string& words) {
  EXPECT_NE(sentence.find(words), std::string::npos) << sentence;
}

TrainingSettings small(Encoder encoder, Precision precision) {
  TrainingSettings settings;
  settings.encoder = encoder;
  settings.precision = precision;
  settings.width = 3;
  settings.classes = 4;
  settings.steps = 7;
  settings.batch = 2;
  settings.least_width = 1e-5;
  settings.normalizer = AnyNormalizer::parse("ssmax:s=0.43,b=0.1");
  return settings;
}

Head trained(const TrainingSettings& settings, std::uint64_t seed) {
  Trainer trainer(settings, seed);
  trainer.step();
  Head head = trainer.head();
  head.arm = "paper";
  return head;
}

TEST(HeadFiles, HeadsAndCheckpointsLoadBackBitForBit) {
  const Folder folder("heads");
  for (const Encoder encoder : {Encoder::mlp, Encoder::linear}) {
    for (const Precision precision : {Precision::float32, Precision::float64}) {
      const TrainingSettings settings = small(encoder, precision);
      constexpr std::uint64_t kSeed = 18'446'744'073'709'551'615u;
      const Head head = trained(settings, kSeed);
      save_head(folder / "head", head);
      const Head again = load_head(folder / "head");
      EXPECT_EQ(again.arm, "paper");
      EXPECT_EQ(again.seed, kSeed);
      EXPECT_EQ(again.training, settings);
      EXPECT_EQ(again.parameters, head.parameters);
      EXPECT_EQ(again.normalizer_parameters, head.normalizer_parameters);

      Trainer trainer(settings, kSeed);
      for (int i = 0; i < 3; ++i) trainer.step();
      const Checkpoint saved{.arm = "sharp",
                             .training = settings,
                             .seed = kSeed,
                             .state = trainer.state(),
                             .loss_sums = {1, 2, 3, 0, 0, 0, 0}};
      save_state(folder / "state", saved);
      const Checkpoint loaded = load_state(folder / "state");
      EXPECT_EQ(loaded.state, saved.state);
      EXPECT_EQ(loaded.loss_sums, saved.loss_sums);
      // And training goes on as if nothing had happened.
      Trainer resumed(settings, kSeed, loaded.state);
      EXPECT_EQ(resumed.step().loss, trainer.step().loss);
      EXPECT_EQ(resumed.state(), trainer.state());
    }
  }
}

TEST(HeadFiles, NoFlippedBitPassesUnnoticed) {
  const Folder folder("heads");
  const TrainingSettings settings = small(Encoder::linear, Precision::float32);
  Trainer trainer(settings, 1);
  save_state(folder / "state", {.arm = "paper",
                                .training = settings,
                                .seed = 1,
                                .state = trainer.state(),
                                .loss_sums = std::vector<double>(7)});
  save_head(folder / "head", trained(settings, 1));
  for (const char* name : {"state", "head"}) {
    const std::string good = contents(folder / name);
    for_each_seed(300, [&](Random& random) {
      std::string bad = good;
      const std::size_t bit = random.size(0, 8 * bad.size() - 1);
      bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
      put(folder / "bad", bad);
      SCOPED_TRACE(bit);
      const std::string words = refusal([&] {
        if (name == std::string("state"))
          load_state(folder / "bad");
        else
          load_head(folder / "bad");
      });
      expect_words(words, "bad: ");
    });
    for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{100}, good.size() - 1}) {
      put(folder / "bad", good.substr(0, length));
      expect_words(refusal([&] { load_state(folder / "bad"); }), "at byte ");
    }
  }
}

TEST(HeadFiles, AnotherFormatIsNamed) {
  const Folder folder("heads");
  const TrainingSettings settings = small(Encoder::mlp, Precision::float32);
  save_head(folder / "head", trained(settings, 1));
  expect_words(refusal([&] { load_state(folder / "head"); }),
               "'sharpmax.head/1'; expected sharpmax.checkpoint/1");
  write_safetensors(folder / "other", {});
  expect_words(refusal([&] { load_head(folder / "other"); }), "no 'format'; expected sharpmax.head/1");
  refusal([&] { load_head(folder / "missing"); }, ErrorCode::io);
}

// Well-formed and with a right checksum, but not such a head: what a careless program would write.
TEST(HeadFiles, NumbersAndShapesThatDoNotFitTheSettingsAreRefused) {
  const Folder folder("heads");
  Head head = trained(small(Encoder::mlp, Precision::float64), 1);
  const auto refused = [&](const Head& bad, const char* words) {
    save_head(folder / "bad", bad);
    expect_words(refusal([&] { load_head(folder / "bad"); }), words);
  };
  Head infinite = head;
  infinite.parameters[5] = std::numeric_limits<double>::infinity();
  refused(infinite, "'item_in.weight' holds inf; expected finite numbers");
  Head other_rule = head;
  other_rule.training.normalizer = AnyNormalizer::parse("sparsemax");
  refused(other_rule, "'normalizer.parameters' is F64 of shape [2]; expected F64 of shape [0]");
  Head out_of_domain = head;
  out_of_domain.training.normalizer = AnyNormalizer::parse("sink");
  out_of_domain.normalizer_parameters = {-1.0};
  refused(out_of_domain, "'normalizer.parameters'");
  Head crowded_twice = head;
  crowded_twice.training.crowded = 2.0;
  refused(crowded_twice, "crowded is 2");
}

TEST(HeadFiles, SettingsAreReadStrictly) {
  const TrainingSettings settings = small(Encoder::mlp, Precision::float64);
  const Json good = json_of(settings);
  EXPECT_EQ(training_from(good, "here"), settings);
  EXPECT_EQ(training_from(parse_json(good.dump(), "here"), "here"), settings);
  for (const auto& [key, value] : good.items()) {
    SCOPED_TRACE(key);
    Json missing = good;
    missing.erase(key);
    expect_words(refusal([&] { training_from(missing, "here"); }), "there is no '" + key + "'");
    for (const Json& wrong : {Json(nullptr), Json::array(), Json("nonsense"), Json(1e300)}) {
      if (value.is_number_float() && wrong.is_number()) continue;
      Json bad = good;
      bad[key] = wrong;
      expect_words(refusal([&] { training_from(bad, "here"); }), "here: ");
    }
  }
  Json more = good;
  more["colour"] = 1;
  expect_words(refusal([&] { training_from(more, "here"); }), "no setting 'colour'");
  expect_words(refusal([&] { parse_json("{\"a\": 1, \"a\": 1}", "here"); }), "'a' appears twice");
  expect_words(refusal([&] { parse_json("{\"a\": 1", "here"); }), "at byte ");
  expect_words(refusal([&] { parse_json("1e999", "here"); }), "here");
}

TEST(HeadFiles, RunsAreReadBackAndTheFirstDifferenceIsNamed) {
  for (const char* name : {"quick", "paper", "sharp"}) {
    const RunSettings run = preset(name);
    const Json json = json_of(run);
    EXPECT_EQ(json_of(run_from(json, "here")), json);
    EXPECT_EQ(first_difference(json, json), "");
    RunSettings other = run;
    other.arms[0].training.steps = 7;
    expect_words(first_difference(json, json_of(other)), "arms.0.training.steps is ");
    other = run;
    other.test.sizes.pop_back();
    expect_words(first_difference(json, json_of(other)), "test.sizes is [16,");
    other = run;
    other.seeds.push_back(99);
    expect_words(first_difference(json, json_of(other)), "seeds is ");
  }
}

TEST(HeadFiles, ALossCurveHasAMeanForEveryStretchAndForgetsNoStep) {
  for (const std::int64_t steps : {1, 2, 7, 199, 200, 201, 399, 1000, 1234}) {
    LossCurve curve(steps);
    for (std::int64_t step = 0; step < steps; ++step) curve.add(step, static_cast<double>(step));
    double sum = 0.0;
    std::int64_t before = 0;
    for (const auto& [end, mean] : curve.points()) {
      ASSERT_GT(end, before);
      EXPECT_DOUBLE_EQ(mean, 0.5 * static_cast<double>(before + end - 1));  // of before .. end - 1
      sum += mean * static_cast<double>(end - before);
      before = end;
    }
    EXPECT_EQ(before, steps);
    EXPECT_NEAR(sum, 0.5 * static_cast<double>(steps * (steps - 1)), 1e-6);
  }
  EXPECT_TRUE(LossCurve(0).points().empty());
}

}  // namespace
}  // namespace sharpmax::test
