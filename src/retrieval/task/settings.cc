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

}  // namespace sharpmax::retrieval
