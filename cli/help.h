// Help on one screen of 80 columns. `--help` has the common options, `--help-all` has every option by group.
#pragma once

#include <CLI/CLI.hpp>

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace sharpmax::cli {

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

// Options of a command that help has, in the order in which they were added.
std::vector<const CLI::Option*> options_with_names(const CLI::App& command);

// Sentences about words that no command takes, with the nearest one that it does.

// After a parse that ended in CLI::ExtrasError: what is wrong with the first such word, and what may be meant.
std::string about_unknown_words(const CLI::App& program);

}  // namespace sharpmax::cli
