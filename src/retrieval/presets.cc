// The three runs that have a name.
#include <fmt/format.h>

#include "retrieval/settings.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

std::vector<std::int64_t> doubling(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = from; n <= to; n *= 2) sizes.push_back(n);
  return sizes;
}

// Paper A's setting, as far as it is known: docs/retrieval.md says what is guessed.
Arm paper_arm(std::int64_t steps) {
  Arm arm{.name = "paper"};
  arm.training.steps = steps;
  return arm;
}

Arm sharp_arm(Encoder encoder, std::int64_t steps) {
  Arm arm{.name = encoder == Encoder::linear ? "sharp" : "sharp-mlp"};
  TrainingSettings& t = arm.training;
  t.encoder = encoder;
  t.steps = steps;
  t.crowding = Crowding::top;
  t.schedule = Schedule::cosine;
  t.clip = 1.0;
  t.precision = Precision::float64;
  return arm;
}

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

RunSettings preset(std::string_view name) {
  const std::vector<AnyNormalizer> few = {Softmax{}, Adaptive{}, EntropyTarget{.nats = 0.1}, Hard{}};
  if (name == "quick")
    return {.preset = "quick",
            .arms = {paper_arm(20'000), sharp_arm(Encoder::linear, 60'000)},
            .seeds = first_seeds(1),
            .test = {.sizes = doubling(16, 16'384), .normalizers = every_normalizer(), .sets_scale = 0.25}};
  if (name == "paper")
    return {.preset = "paper",
            .arms = {paper_arm(100'000)},
            .seeds = first_seeds(10),
            .test = {.sizes = doubling(16, 16'384), .normalizers = few}};
  if (name == "sharp") {
    std::vector<std::int64_t> sizes = doubling(16, 16'384);
    sizes.insert(sizes.end(), {131'072, 1'048'576});
    return {.preset = "sharp",
            .arms = {sharp_arm(Encoder::linear, 60'000), sharp_arm(Encoder::mlp, 60'000)},
            .seeds = first_seeds(5),
            .test = {.sizes = sizes, .normalizers = few}};
  }
  throw Error(ErrorCode::bad_argument,
              fmt::format("retrieve: preset is '{}'; it must be one of quick, paper, sharp", name));
}

}  // namespace sharpmax::retrieval
