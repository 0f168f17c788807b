// Options of a command, made from the fields of a request.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "job/field_values.h"

namespace sharpmax::cli {

// The option of a field, with its help; `given` takes its texts when the words are parsed.
CLI::Option* add_field(CLI::App& words, const Field& field, const std::string& otherwise,
                       std::function<void(const std::vector<std::string>&)> given);
CLI::Option* add_flag_field(CLI::App& words, const Field& field, bool& value);

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <>
inline constexpr bool kIsList<Texts> = true;

// Adds an option for each field of the request, which must outlive the parsing. Defaults are those that it has now.
template <class Request>
void add_fields(CLI::App& words, Request& request) {
  Request::each_field(request, [&](const Field& field, auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      add_flag_field(words, field, value);
    } else {
      CLI::Option* const option = add_field(
          words, field, value == Value{} ? "" : field_text(value), [field, &value](const std::vector<std::string>& texts) {
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
            check_field(field, value);  // a 0 that was typed is not a default
          });
      if constexpr (kIsList<Value>) option->take_all();
    }
  });
}

}  // namespace sharpmax::cli
