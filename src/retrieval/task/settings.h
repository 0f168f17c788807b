// Settings of a run: their checks, and enumerations as words and as values of fields.
#pragma once

#include <string>
#include <string_view>

#include "job/field_values.h"
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

}  // namespace sharpmax::retrieval
