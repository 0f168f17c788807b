// Scripts that teach a shell to complete the words of sharpmax, made from its commands and options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace sharpmax::cli {

// An option as a shell needs it.
struct Completed {
  std::vector<std::string> names;    // --text; -o before --report
  std::string meaning;               // one line
  bool takes_value = false;
  bool takes_file = false;           // or a directory
  std::vector<std::string> choices;  // of its value, if they can be listed
};
struct CompletedCommand {
  std::string name, meaning;
  std::vector<Completed> options;
};

// The commands of a program; the first, without a name, has the options of the program itself.
std::vector<CompletedCommand> completed_commands(const CLI::App& program);

std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace sharpmax::cli
