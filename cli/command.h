// What a subcommand is: it adds its words to the command line and returns what to do when they were given. Most are
// verbs (verbs.h), which door.h makes subcommands of.
//
// Help is one screen of 80 columns: `--help` has the common options, `--help-all` has every option by group.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "job/call_files.h"

namespace sharpmax::cli {

// Words that do not parse: a sentence, and kUsage.
struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Command {
  CLI::App* words = nullptr;
  std::function<int(Call& call)> run;  // returns an exit code, or throws Error
};

Command add_attend(CLI::App& program);
Command add_bench(CLI::App& program);
Command add_completion(CLI::App& program);

// Options that every command has alike.
void add_json_option(CLI::App& words, std::string& json, std::string_view schema, const char* group);
void add_overwrite_option(CLI::App& words, bool& overwrite, const char* group);

// What help and shell completion know about an option besides what CLI11 keeps.
struct OptionNote {
  bool common = false;               // --help has it
  std::vector<std::string> choices;  // values that it may have; empty: not a list
};

// CLI11's own help does not wrap lines and has every option.
class WrappingFormatter : public CLI::Formatter {
 public:
  WrappingFormatter();
  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;

  std::map<const CLI::Option*, OptionNote> notes;

 private:
  std::string common_options(const CLI::App* command) const;
};

// The note of an option, to fill in while a command is described.
OptionNote& note_of(const CLI::App& command, const CLI::Option* option);
// For options that are not fields of a request.
void mark_common(const CLI::App& command, std::initializer_list<const char*> options);

// All of them, as they were added; options that help has.
std::vector<const CLI::App*> commands_of(const CLI::App& program);
std::vector<const CLI::Option*> options_with_names(const CLI::App& command);

// Throws Usage if an option that needs a value is followed by another option or by nothing: CLI11 would take
// the option as the value. A value that begins with a dash is written --option=VALUE, but for numbers.
void check_values(const CLI::App& words, const std::vector<std::string>& typed, std::size_t first);

// After a parse that ended in CLI::ExtrasError: what is wrong with the first word that no command takes, and what may be
// meant.
std::string about_unknown_words(const CLI::App& program);

}  // namespace sharpmax::cli
