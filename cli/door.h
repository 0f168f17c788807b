// The door of the command line: a verb as a command, with options made from its fields, and its output.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/verbs.h"
#include "cluster/launch.h"
#include "job/field_values.h"
#include "retrieval/task/task.h"

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

// Which results go to standard output in place of the text: those whose file is "-".
struct StandardOutput {
  bool json = false, csv = false;
};
// Takes a "-" away from `file`, which then names none.
bool takes_standard_output(std::string& file);
void check_standard_output(const StandardOutput& output);  // throws if both want it
int show(const Outcome& outcome, const StandardOutput& output);
inline int exit_code_of(const Outcome& outcome) { return outcome.ok ? kOk : kCheckFailed; }

// --text -, --prompt-file -: the text is standard input.
void read_standard_input(TextRequest& text);
void read_standard_input(GenerateRequest& request);

// Of several processes that a launcher started for one run the first one speaks and writes the files that were asked for.
template <class Verb>
bool is_silent(Verb& verb) {
  if constexpr (requires { Verb::kSweeps; }) {
    if (launch().rank == 0) return false;
    Verb::each_field(verb, [&](const Field& field, auto& value) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>)
        if (field.kind == Field::Kind::output && field.name != "directory") value.clear();
    });
    return true;
  }
  return false;
}

template <class Verb>
int run_verb(Verb& verb, const Given& given, Call& call) {
  StandardOutput output;
  const bool silent = is_silent(verb);
  Verb::each_field(verb, [&](const Field& field, auto& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
      if (field.name == "json") output.json = takes_standard_output(value);
      if (field.name == "csv") output.csv = takes_standard_output(value);
    }
  });
  check_standard_output(output);
  verb.check(given);
  constexpr bool kGenerates = std::is_same_v<Verb, RunVerb>;
  if constexpr (kGenerates) read_standard_input(verb.request);
  if constexpr (requires { verb.text(); }) read_standard_input(verb.text());
  ConsoleListener listener(call, !output.json, kGenerates ? Progress::Elsewhere::silent : Progress::Elsewhere::lines,
                           silent ? ConsoleListener::Remarks::silent : ConsoleListener::Remarks::shown);
  if (silent) return exit_code_of(verb.run({listener, given, call.command()}));
  return show(verb.run({listener, given, call.command(), output.json, /*streams_text=*/true}), output);
}

template <class Verb>
Command add_verb(CLI::App& program) {
  const auto verb = std::make_shared<Verb>();
  const auto given = std::make_shared<Given>();
  CLI::App* app = program.add_subcommand(Verb::kName, Verb::kSummary);
  app->footer(Verb::kFooter);
  add_fields(*app, *verb, *given);
  return {app, [verb, given](Call& call) { return run_verb(*verb, *given, call); }};
}

}  // namespace sharpmax::cli
