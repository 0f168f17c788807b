// Options of a command, made from the fields of a request.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/verbs.h"
#include "job/field_values.h"
#include "job/normalizer_fields.h"
#include "retrieval/task/settings.h"

namespace sharpmax::cli {

// The option of a field, with its help; `given` takes its texts when the words are parsed.
CLI::Option* add_field(CLI::App& words, const Field& field, const std::string& otherwise,
                       std::function<void(const std::vector<std::string>&)> given);
void add_flag_field(CLI::App& words, const Field& field, std::function<void()> given);

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <>
inline constexpr bool kIsList<Texts> = true;

// The value that the texts say; a list has the pieces of all of them.
template <class Value>
void read_texts(const Field& field, const std::vector<std::string>& texts, Value& value) {
  if constexpr (kIsList<Value>) {
    value.clear();
    for (const std::string& text : texts) {
      Value piece;
      read_field(field, text, piece);
      value.insert(value.end(), piece.begin(), piece.end());
    }
  } else {
    read_field(field, texts.back(), value);
  }
  check_field(field, value);  // a default that was typed is checked too
}

// Adds an option for each field of the request, which must outlive the parsing. Defaults are those that it has now.
template <class Request>
void add_fields(CLI::App& words, Request& request, Given& given) {
  Request::each_field(request, [&](const Field& field, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if (field.kind == Field::Kind::memory) return;
    if constexpr (std::is_same_v<Value, bool>) {
      add_flag_field(words, field, [field, &value, &given] {
        value = true;
        given.emplace(field.name);
      });
    } else {
      CLI::Option* const option = add_field(words, field, value == Value{} ? "" : field_text(value),
                                            [field, &value, &given](const std::vector<std::string>& texts) {
                                              read_texts(field, texts, value);
                                              given.emplace(field.name);
                                            });
      if constexpr (kIsList<Value>) option->take_all();
    }
  });
}

}  // namespace sharpmax::cli
