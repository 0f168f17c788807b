#include "retrieval/task/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/in_quotes.h"
#include "normalizer/definition.h"

namespace sharpmax::retrieval {
namespace {

// "mlp or linear", "none, anywhere or top"
std::string listed(std::span<const std::string_view> words) {
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return list;
}

template <class Word>
void read_word(const Field& field, std::string_view text, std::span<const std::string_view> words, Word& value) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", named(field.name), in_quotes(text),
                                                            listed(words)));
  value = static_cast<Word>(found - words.begin());
}

template <class Value>
void require(bool holds, std::string_view field, const Value& found, std::string_view allowed) {
  if (!holds)
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", named(field), found, allowed));
}

template <class T>
void require_distinct(std::string_view field, const std::vector<T>& values) {
  if (values.empty())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is empty; it must have a value", named(field)));
  if (std::set<T>(values.begin(), values.end()).size() != values.size())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is {}; its values must differ", named(field),
                                                            sharpmax::field_text(values)));
}

// Heads weigh scores, and a head is one.
void require_scores_alone(const AnyNormalizer& normalizer, std::string_view field) {
  if (normalizer.definition().needs_queries_and_keys)
    throw RequestError(ErrorCode::unsupported, fmt::format("{}: {} is not a function of the scores alone, so a head cannot be "
                                                           "trained or tested with it",
                                                           named(field), normalizer.name()));
  check_heads(normalizer, 1, "retrieve");
}

}  // namespace

std::string_view word(Encoder value) { return kEncoders[static_cast<std::size_t>(value)]; }
std::string_view word(Schedule value) { return kSchedules[static_cast<std::size_t>(value)]; }
std::string_view word(Crowding value) { return kCrowdings[static_cast<std::size_t>(value)]; }
std::string_view word(Precision value) { return kPrecisions[static_cast<std::size_t>(value)]; }
void read_field(const Field& field, std::string_view text, Encoder& value) { read_word(field, text, kEncoders, value); }
void read_field(const Field& field, std::string_view text, Schedule& value) { read_word(field, text, kSchedules, value); }
void read_field(const Field& field, std::string_view text, Crowding& value) { read_word(field, text, kCrowdings, value); }
void read_field(const Field& field, std::string_view text, Precision& value) { read_word(field, text, kPrecisions, value); }

std::int64_t sets_at(std::int64_t n, double scale) {
  const double full = n <= 2048 ? 8192 : n <= 16'384 ? 2048 : n <= 131'072 ? 512 : 128;
  return std::max<std::int64_t>(1, std::llround(full * scale));
}

void validate(const TrainingSettings& s) {
  TrainingSettings::each_field(s, [](const Field& field, const auto& value) {
    check_field(field, value);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, double>)
      require(std::isfinite(value), field.name, value, "a finite number");
  });
  require(s.largest_size >= s.least_size, "largest_size", s.largest_size,
          fmt::format("at least {}, which is {}", named("least_size"), s.least_size));
  require(s.learning_rate > 0.0, "learning_rate", s.learning_rate, "above 0");
  require(s.final_learning_rate > 0.0 && s.final_learning_rate <= s.learning_rate, "final_learning_rate",
          s.final_learning_rate, fmt::format("above 0 and at most {}, which is {}", named("learning_rate"), s.learning_rate));
  require(s.beta1 >= 0.0 && s.beta1 < 1.0, "beta1", s.beta1, "at least 0 and below 1");
  require(s.beta2 >= 0.0 && s.beta2 < 1.0, "beta2", s.beta2, "at least 0 and below 1");
  require(s.epsilon > 0.0, "epsilon", s.epsilon, "above 0");
  require_scores_alone(s.normalizer, "train_normalizer");
  check_backward(s.normalizer, "retrieve");
}

void validate(const RunSettings& run) {
  require_distinct("seed_list", run.seeds);
  for (const Arm& arm : run.arms) validate(arm.training);
  TestSettings::each_field(run.test, [](const Field& field, const auto& value) { check_field(field, value); });
  require_distinct("sizes", run.test.sizes);
  if (run.test.normalizers.empty())
    throw RequestError(ErrorCode::bad_argument, fmt::format("{} is empty; it must have a value", named("normalizers")));
  for (const AnyNormalizer& normalizer : run.test.normalizers) require_scores_alone(normalizer, "normalizers");
}

// The three runs that have a name.

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
