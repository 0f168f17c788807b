// From what a caller names to the parameters of a definition: every check, one place, one wording.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "normalizer/definition.h"

namespace sharpmax {

// A parameter as it was found. Columns count from 1; 0: it does not come from a text.
struct FoundParameter {
  std::string_view name;
  Parameter value;
  std::size_t name_column = 0;
  std::size_t value_column = 0;
};

// Throw Error{bad_argument}.
const Definition& require_definition(std::string_view name, std::size_t column);
const ParameterSpec& require_parameter(const Definition& definition, std::string_view name,
                                       std::size_t column);

// All parameters of the definition in its order, defaults filled in. Throws Error{bad_argument} for
// names that are unknown or given twice and for values outside their domain.
std::vector<Parameter> complete(const Definition& definition, std::span<const FoundParameter> found);

// A number that may be left to the rule, written as the spec's one word: sigmoid's b = auto. Its value
// is NaN.
bool may_be_auto(const ParameterSpec& spec) noexcept;

// The value as it stands in text: 0.5, 1/2/3, qwen, auto.
std::string text_of(const ParameterSpec& spec, const Parameter& parameter);
// Whether it is the default, bit for bit.
bool is_default(const ParameterSpec& spec, const Parameter& parameter);

// How messages about normalizers speak of what they found.

// " (column 8)", or nothing for column 0: the mistake is not in a text.
std::string at_column(std::size_t column);

// "alpha, delta and beta"
std::string joined(std::span<const std::string_view> words);

// "; did you mean entmax?", or nothing when no word is close.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace sharpmax
