// Values of fields: read from text, written as text, checked against their domain.
//
// A type of its own, such as an enumeration, takes part with two functions that argument-dependent lookup finds:
// std::string field_text(const Type&) and void read_field(const Field&, std::string_view, Type&).
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sharpmax/job.h"
#include "sharpmax/normalizer.h"

namespace sharpmax {

// As the command line and files have them. Lists are joined by commas, lists of text by semicolons.
std::string field_text(bool value);
std::string field_text(std::int64_t value);
std::string field_text(std::uint64_t value);
std::string field_text(int value);
std::string field_text(double value);
std::string field_text(const std::string& value);

// Throws RequestError{bad_argument} for text that is none.
void read_field(const Field& field, std::string_view text, bool& value);
void read_field(const Field& field, std::string_view text, std::int64_t& value);
void read_field(const Field& field, std::string_view text, std::uint64_t& value);
void read_field(const Field& field, std::string_view text, int& value);
void read_field(const Field& field, std::string_view text, double& value);
void read_field(const Field& field, std::string_view text, std::string& value);

std::vector<std::string_view> pieces_of(std::string_view text, char separator);

template <class T>
inline constexpr char kSeparator = std::is_same_v<T, std::string> ? ';' : ',';

template <class T>
std::string field_text(const std::optional<T>& value) {
  return value ? field_text(*value) : std::string();
}
template <class T>
std::string field_text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    if (!text.empty()) text += kSeparator<T>;
    text += field_text(value);
  }
  return text;
}
inline void read_field(const Field&, std::string_view text, Texts& values) { values.assign(1, std::string(text)); }
template <class T>
void read_field(const Field& field, std::string_view text, std::optional<T>& value) {
  read_field(field, text, value.emplace());
}
template <class T>
void read_field(const Field& field, std::string_view text, std::vector<T>& values) {
  values.clear();
  for (const std::string_view piece : pieces_of(text, kSeparator<T>)) read_field(field, piece, values.emplace_back());
}

// "from 1 to 4096", "at least 16", "text, task or both"; empty for any value.
std::string words_of(const Domain& domain);

// Throws RequestError{bad_argument} for a value outside its domain. An empty text is a field that was not given.
void check_number(const Field& field, double value);
void check_text(const Field& field, const std::string& value);

template <class T>
void check_field(const Field& field, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    check_text(field, value);
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    check_number(field, static_cast<double>(value));
  }
}
template <class T>
void check_field(const Field& field, const std::optional<T>& value) {
  if (value) check_field(field, *value);
}
template <class T>
void check_field(const Field& field, const std::vector<T>& values) {
  for (const T& value : values) check_field(field, value);
}
// visit(field, value) for each field that differs from its default.
template <class Request, class Visit>
void each_given(const Request& request, const Visit& visit) {
  std::map<std::string_view, std::string> defaults;
  static const Request plain{};  // one per kind of request, made once
  Request::each_field(plain, [&](const Field& field, const auto& value) { defaults[field.name] = field_text(value); });
  Request::each_field(request, [&](const Field& field, const auto& value) {
    if (field_text(value) != defaults[field.name]) visit(field, value);
  });
}

// A number that is 0 by default means "not given" there.
template <class Request>
void check_fields(const Request& request) {
  each_given(request, [](const Field& field, const auto& value) { check_field(field, value); });
}

// The field whose file this one has the contents of: text for text_string.
inline std::string_view file_of(const Field& memory) { return memory.name.substr(0, memory.name.rfind('_')); }

// A word as a shell takes it, in quotes if it needs them.
std::string quoted_word(std::string_view word);

// What asks the command line for the same: the fields that differ from their defaults, as options of `verb`.
template <class Request>
std::string command_of(std::string_view verb, const Request& request) {
  std::string operands, options;
  const auto add = [&](const std::string& option, const std::string& text) {
    options.append(1, ' ').append(option).append(1, text.starts_with('-') ? '=' : ' ').append(quoted_word(text));
  };
  each_given(request, [&](const Field& field, const auto& value) {
    const std::string option = option_of(field);
    if (field.kind == Field::Kind::memory) return add(option_of(file_of(field)), "-");
    if (!option.starts_with('-')) {
      operands.append(1, ' ').append(quoted_word(field_text(value)));
    } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) {
      options.append(1, ' ').append(option);
    } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Texts>) {
      for (const std::string& one : value) add(option, one);
    } else {
      add(option, field_text(value));
    }
  });
  return "sharpmax " + std::string(verb) + operands + options;
}

// Normalizers as values of fields. Their parameters are separated by commas, so a list of them is separated by semicolons.

template <>
inline constexpr char kSeparator<AnyNormalizer> = ';';

std::string field_text(const AnyNormalizer& value);
// Throw RequestError for text that is not a normalizer.
void read_field(const Field& field, std::string_view text, AnyNormalizer& value);
void read_field(const Field& field, std::string_view text, std::optional<AnyNormalizer>& value);
void read_field(const Field& field, std::string_view text, std::vector<AnyNormalizer>& values);

}  // namespace sharpmax
