// The door of the command line: a verb as a command, with options made from its fields, its listener, and its output.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/fields.h"
#include "cli/verbs.h"

namespace sharpmax::cli {

// Hears a job for the console: progress and narration go to standard error, generated text to standard output.
class ConsoleListener : public Listener {
 public:
  // prints: generated text goes to standard output.
  explicit ConsoleListener(bool prints = true, Progress::Elsewhere elsewhere = Progress::Elsewhere::lines)
      : prints_(prints), progress_(elsewhere) {}
  void on_progress(std::string_view line) override { progress_.show(line); }
  void on_pause() override { pause(); }
  void on_narration(std::string_view sentence) override;
  void on_text(std::string_view text) override {
    if (prints_) print_stream(text);
  }
  void on_resumption(const Resumption& resumption) override;
  Speech speech() const override { return Speech::command_line; }

 private:
  bool prints_;
  Progress progress_;
};

// Which results go to standard output in place of the text: those whose file is "-".
struct StandardOutput {
  bool json = false, csv = false;
};
// Takes a "-" away from `file`, which then names none.
bool takes_standard_output(std::string& file);
void check_standard_output(const StandardOutput& output);  // throws if both want it
int show(const Outcome& outcome, const StandardOutput& output);

// --text -, --prompt-file -: the text is standard input.
void read_standard_input(TextRequest& text);
void read_standard_input(GenerateRequest& request);

template <class Verb>
int run_verb(Verb& verb, const Given& given) {
  StandardOutput output;
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
  ConsoleListener listener(!output.json, kGenerates ? Progress::Elsewhere::silent : Progress::Elsewhere::lines);
  return show(verb.run({listener, given, command_line(), output.json, /*streams_text=*/true}), output);
}

template <class Verb>
Command add_verb(CLI::App& program) {
  const auto verb = std::make_shared<Verb>();
  const auto given = std::make_shared<Given>();
  CLI::App* app = program.add_subcommand(Verb::kName, Verb::kSummary);
  app->footer(Verb::kFooter);
  add_fields(*app, *verb, *given);
  return {app, [verb, given] { return run_verb(*verb, *given); }};
}

}  // namespace sharpmax::cli
