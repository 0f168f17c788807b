// Settings of a run: their checks, and enumerations as words and as values of fields.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "job/field_values.h"
#include "job/strict_json.h"
#include "job/normalizer_fields.h"
#include "sharpmax/retrieval_settings.h"

namespace sharpmax::retrieval {

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

}  // namespace sharpmax::retrieval
