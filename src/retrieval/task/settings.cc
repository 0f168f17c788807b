#include "retrieval/task/settings.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "normalizer/definition.h"
#include "sharpmax/error.h"

namespace sharpmax::retrieval {
namespace {

template <class Enum>
using Words = std::pair<Enum, std::string_view>;

constexpr std::array<Words<Encoder>, 2> kEncoders = {{{Encoder::mlp, "mlp"}, {Encoder::linear, "linear"}}};
constexpr std::array<Words<Schedule>, 3> kSchedules = {
    {{Schedule::constant, "constant"}, {Schedule::cosine, "cosine"}, {Schedule::geometric, "geometric"}}};
constexpr std::array<Words<Crowding>, 3> kCrowdings = {
    {{Crowding::none, "none"}, {Crowding::anywhere, "anywhere"}, {Crowding::top, "top"}}};
constexpr std::array<Words<Precision>, 2> kPrecisions = {
    {{Precision::float32, "float32"}, {Precision::float64, "float64"}}};

template <class Table, class Enum>
std::string_view word_in(const Table& table, Enum value) {
  for (const auto& [candidate, text] : table)
    if (candidate == value) return text;
  return "";
}

template <class Enum, class Table>
Enum value_in(const Table& table, std::string_view what, std::string_view text) {
  std::string wanted;
  for (const auto& [candidate, name] : table) {
    if (name == text) return candidate;
    wanted += fmt::format("{}{}", wanted.empty() ? "" : ", ", name);
  }
  throw Error(ErrorCode::bad_argument,
              fmt::format("retrieve: {} is '{}'; it must be one of {}", what, text, wanted));
}

template <class Value>
void require(bool holds, std::string_view what, const Value& found, std::string_view wanted) {
  if (!holds)
    throw Error(ErrorCode::bad_argument,
                fmt::format("retrieve: {} is {}; it must be {}", what, found, wanted));
}

constexpr std::int64_t kLargestWidth = 4096;  // four matrices of this many squared
constexpr std::int64_t kLargestClasses = 4096;
constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::int64_t kLargestTrainingSize = 1 << 20;
constexpr std::int64_t kLargestTestSize = std::int64_t{1} << 28;  // items of one set are held in memory

}  // namespace

std::string_view word(Encoder value) { return word_in(kEncoders, value); }
std::string_view word(Schedule value) { return word_in(kSchedules, value); }
std::string_view word(Crowding value) { return word_in(kCrowdings, value); }
std::string_view word(Precision value) { return word_in(kPrecisions, value); }
Encoder encoder_from(std::string_view text) { return value_in<Encoder>(kEncoders, "encoder", text); }
Schedule schedule_from(std::string_view text) { return value_in<Schedule>(kSchedules, "schedule", text); }
Crowding crowding_from(std::string_view text) { return value_in<Crowding>(kCrowdings, "crowding", text); }
Precision precision_from(std::string_view text) {
  return value_in<Precision>(kPrecisions, "precision", text);
}

std::int64_t sets_at(std::int64_t n, double scale) {
  const double full = n <= 2048 ? 8192 : n <= 16'384 ? 2048 : n <= 131'072 ? 512 : 128;
  return std::max<std::int64_t>(1, std::llround(full * scale));
}

void validate(const TrainingSettings& s) {
  require(s.width >= 1 && s.width <= kLargestWidth, "width", s.width,
          fmt::format("in 1 .. {}", kLargestWidth));
  require(s.classes >= 2 && s.classes <= kLargestClasses, "classes", s.classes,
          fmt::format("in 2 .. {}: with fewer there is nothing to tell apart", kLargestClasses));
  require(s.steps >= 0, "steps", s.steps, "0 or more");
  require(s.batch >= 1 && s.batch <= kLargestBatch, "batch", s.batch,
          fmt::format("in 1 .. {}", kLargestBatch));
  require(s.least_size >= 1, "the least training size", s.least_size, "1 or more");
  require(s.largest_size >= s.least_size && s.largest_size <= kLargestTrainingSize,
          "the largest training size", s.largest_size,
          fmt::format("in {} .. {}", s.least_size, kLargestTrainingSize));
  require(s.crowded >= 0.0 && s.crowded <= 1.0, "crowded", s.crowded, "a share in [0, 1]");
  require(s.least_width >= 1e-12 && s.least_width <= 1.0, "the least width", s.least_width, "in [1e-12, 1]");
  require(s.learning_rate > 0.0 && std::isfinite(s.learning_rate), "the learning rate", s.learning_rate,
          "a positive number");
  require(s.final_learning_rate > 0.0 && s.final_learning_rate <= s.learning_rate, "the final learning rate",
          s.final_learning_rate, "positive and at most the learning rate");
  require(s.weight_decay >= 0.0 && std::isfinite(s.weight_decay), "the weight decay", s.weight_decay,
          "0 or more");
  require(s.beta1 >= 0.0 && s.beta1 < 1.0, "beta1", s.beta1, "in [0, 1)");
  require(s.beta2 >= 0.0 && s.beta2 < 1.0, "beta2", s.beta2, "in [0, 1)");
  require(s.epsilon > 0.0 && std::isfinite(s.epsilon), "epsilon", s.epsilon, "a positive number");
  require(s.clip >= 0.0 && std::isfinite(s.clip), "clip", s.clip, "0 (none) or a positive number");
  if (s.normalizer.definition().needs_queries_and_keys)
    throw Error(
        ErrorCode::unsupported,
        fmt::format("retrieve: {} is no function of the scores alone; the head cannot be trained with it",
                    s.normalizer.name()));
  check_heads(s.normalizer, 1, "retrieve");
  check_backward(s.normalizer, "retrieve");
}

void validate(const RunSettings& run) {
  require(!run.seeds.empty(), "the list of seeds", "empty", "one seed or more");
  require(std::set<std::uint64_t>(run.seeds.begin(), run.seeds.end()).size() == run.seeds.size(),
          "the list of seeds", "repeating itself", "without repetition");
  for (const Arm& arm : run.arms) validate(arm.training);
  require(!run.test.sizes.empty(), "the list of sizes", "empty", "one size or more");
  for (const std::int64_t n : run.test.sizes)
    require(n >= 1 && n <= kLargestTestSize, "a test size", n, fmt::format("in 1 .. {}", kLargestTestSize));
  require(
      std::set<std::int64_t>(run.test.sizes.begin(), run.test.sizes.end()).size() == run.test.sizes.size(),
      "the list of sizes", "repeating itself", "without repetition");
  require(!run.test.normalizers.empty(), "the list of normalizers", "empty", "one normalizer or more");
  for (const AnyNormalizer& normalizer : run.test.normalizers) {
    if (normalizer.definition().needs_queries_and_keys)
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "retrieve: {} is no function of the scores alone; it cannot be tested on a head trained "
              "with another",
              normalizer.name()));
    check_heads(normalizer, 1, "retrieve");
  }
  require(run.test.sets_scale > 0.0 && run.test.sets_scale <= 1024.0, "the scale of test sets",
          run.test.sets_scale, "in (0, 1024]");
}

}  // namespace sharpmax::retrieval
