// The three runs that have a name.
#include <fmt/format.h>

#include "base/in_quotes.h"
#include "retrieval/task/settings.h"

namespace sharpmax::retrieval {
namespace {

std::vector<std::int64_t> doubling(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = from; n <= to; n *= 2) sizes.push_back(n);
  return sizes;
}

// Paper A's setting, as far as it is known: docs/reference/retrieval.md says what is guessed.
Arm paper_arm(std::int64_t steps) {
  Arm arm{.name = "paper"};
  arm.training.steps = steps;
  return arm;
}

// Our recipe: docs/reference/retrieval.md shows what each ingredient does. Sets of at most 16 items crowded below 1
// stand for the top of sets of up to a thousand million; a rule that keeps its rows sharp at any scale of the
// scores gives even the most crowded of them a gradient; and the learning rate falls as far as the resolution
// that is wanted, at a constant rate.
TrainingSettings sharp_training(Encoder encoder, std::int64_t steps) {
  TrainingSettings t;
  t.encoder = encoder;
  t.steps = steps;
  t.normalizer = EntropyTarget{.nats = 1.0};
  t.crowding = Crowding::top;
  t.least_width = 1e-9;
  t.schedule = Schedule::geometric;
  t.final_learning_rate = 1e-9;
  t.beta2 = 0.99;
  t.clip = 1.0;
  t.precision = Precision::float64;  // makes no difference that was seen, and rounding is never the question
  return t;
}

// The same sets for a head that is trained under softmax: what crowding alone gives.
TrainingSettings crowded_softmax_training(std::int64_t steps) {
  TrainingSettings t;
  t.encoder = Encoder::linear;
  t.steps = steps;
  t.crowding = Crowding::top;
  t.least_width = 1e-6;
  t.schedule = Schedule::cosine;
  t.clip = 1.0;
  t.precision = Precision::float64;
  return t;
}

constexpr std::int64_t kPaperSteps = 100'000;

std::vector<AnyNormalizer> every_normalizer() {
  std::vector<AnyNormalizer> all;
  for (const NormalizerInfo& member : family())
    if (!member.needs_queries_and_keys) all.push_back(AnyNormalizer(member.name));
  return all;
}

std::vector<std::uint64_t> first_seeds(std::uint64_t count) {
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < count; ++seed) seeds.push_back(seed);
  return seeds;
}

}  // namespace

Arm named_arm(std::string_view name) {
  if (name == "paper") return paper_arm(kPaperSteps);
  if (name == "sharp") return {.name = "sharp", .training = sharp_training(Encoder::linear, 20'000)};
  if (name == "sharp-mlp") return {.name = "sharp-mlp", .training = sharp_training(Encoder::mlp, 40'000)};
  if (name == "crowded-softmax")
    return {.name = "crowded-softmax", .training = crowded_softmax_training(60'000)};
  throw RequestError(ErrorCode::bad_argument,
                     fmt::format("{}: there is no arm {}; it must be paper, sharp, sharp-mlp or crowded-softmax", named("arms"),
                                 in_quotes(name)));
}

RunSettings preset(std::string_view name) {
  const std::vector<AnyNormalizer> few = {Softmax{}, Adaptive{}, EntropyTarget{.nats = 0.1}, Hard{}};
  if (name == "quick")
    return {.preset = "quick",
            .arms = {paper_arm(30'000), named_arm("sharp")},
            .seeds = first_seeds(1),
            .test = {.sizes = doubling(16, 16'384), .normalizers = every_normalizer(), .sets_scale = 0.25}};
  if (name == "paper")
    return {.preset = "paper",
            .arms = {named_arm("paper")},
            .seeds = first_seeds(10),
            .test = {.sizes = doubling(16, 16'384), .normalizers = few}};
  if (name == "sharp") {
    std::vector<std::int64_t> sizes = doubling(16, 16'384);
    sizes.insert(sizes.end(), {131'072, 1'048'576});
    std::vector<AnyNormalizer> constants = few;  // any constant temperature has a size at which it loses the key
    constants.insert(constants.begin() + 1, {Softmax{.beta = 1e3}, Softmax{.beta = 1e6}});
    return {.preset = "sharp",
            .arms = {named_arm("paper"), named_arm("sharp"), named_arm("sharp-mlp"),
                     named_arm("crowded-softmax")},
            .seeds = first_seeds(5),
            .test = {.sizes = sizes, .normalizers = constants}};
  }
  throw RequestError(ErrorCode::bad_argument,
                     fmt::format("{} is {}; it must be quick, paper or sharp", named("preset"), in_quotes(name)));
}

}  // namespace sharpmax::retrieval
