// The task of paper A: a set of items, each a priority in [0, 1) and a class; a query scalar that says
// nothing; the answer is the class of the item with the largest priority.
//
// Every number is a function of (seed, purpose, size or step, index of the set, index of the item): the
// same sets for any thread count and any order. Sets with a tie for first place are drawn again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "job/field_values.h"
#include "job/saved_results.h"
#include "sharpmax/retrieval_settings.h"

namespace sharpmax::retrieval {

// Settings of a run: their checks, and enumerations as words and as values of fields.

// Throw RequestError{bad_argument} naming the setting, what was found and what is allowed; {unsupported} for a normalizer that
// heads cannot have.
void validate(const TrainingSettings& settings);
void validate(const RunSettings& settings);

std::string_view word(Encoder);
std::string_view word(Schedule);
std::string_view word(Crowding);
std::string_view word(Precision);

template <class Word>
  requires std::is_enum_v<Word>
std::string field_text(Word value) {
  return std::string(word(value));
}
void read_field(const Field& field, std::string_view text, Encoder& value);
void read_field(const Field& field, std::string_view text, Schedule& value);
void read_field(const Field& field, std::string_view text, Crowding& value);
void read_field(const Field& field, std::string_view text, Precision& value);

// Settings as JSON and back. Reading is strict: a key that is missing, unknown or of another type is
// Error{bad_file}, and so are values that validate() refuses. `where` opens every message.

inline constexpr std::string_view kRunSchema = "sharpmax.retrieval.run/1";  // of a run's settings

nlohmann::ordered_json json_of(const TrainingSettings& settings);
nlohmann::ordered_json json_of(const TestSettings& settings);
nlohmann::ordered_json json_of(const RunSettings& settings);

TrainingSettings training_from(const nlohmann::ordered_json& json, std::string_view where);
RunSettings run_from(const nlohmann::ordered_json& json, std::string_view where);

using sharpmax::first_difference;
using sharpmax::parse_json;

struct Set {
  std::vector<double> priorities;
  std::vector<std::int32_t> classes;
  double query = 0.0;
  std::int64_t right = 0;  // index of the largest priority

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(priorities.size()); }
};

// Test set number `index` of size n: priorities U(0, 1), 44 random bits each.
void draw_test_set(std::uint64_t seed, std::int64_t classes, std::int64_t n, std::int64_t index, Set& set);

// The same set if it is too large to be held: its query, and any run of its items. A set with a tie for first place is
// drawn again, as the next attempt; whoever draws it share by share has to look for the tie.
struct TestSet {
  std::uint64_t seed = 0;
  std::int64_t classes = 0, n = 0, index = 0;
  std::uint64_t attempt = 0;
};
double query_of(const TestSet& set);
// Items [first, first + priorities.size()); `first` is even.
void draw_test_items(const TestSet& set, std::int64_t first, std::span<double> priorities,
                     std::span<std::int32_t> classes);

// Set number `index` of training step `step`, its size and crowding drawn too.
void draw_training_set(const TrainingSettings& settings, std::uint64_t seed, std::int64_t step,
                       std::int64_t index, Set& set);

}  // namespace sharpmax::retrieval
