#include "cli/unknown_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/in_quotes.h"
#include "cli/help.h"
#include "normalizer/parameters.h"

namespace sharpmax::cli {
namespace {

std::string with_suggestion(const std::string& sentence, std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return sentence + suggestion(word, views);
}

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options_with_names(command))
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// Commands that have an option of this name.
std::string owners_of(const CLI::App& program, const std::string& option) {
  std::string owners;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    const std::vector<std::string> names = option_names(*command);
    if (std::find(names.begin(), names.end(), option) != names.end())
      owners += (owners.empty() ? "" : ", ") + command->get_name();
  }
  return owners;
}

std::string about_option(const CLI::App& program, const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const bool is_program = &command == &program;
  const std::string who = is_program ? "sharpmax" : "sharpmax " + command.get_name();
  const std::string sentence =
      with_suggestion(fmt::format("{} has no option {}", who, in_quotes(name)), name, option_names(command));
  if (sentence.ends_with('?')) return sentence;
  const std::string owners = owners_of(program, name);
  if (!owners.empty()) return fmt::format("{}, but these commands have it: {}", sentence, owners);
  return fmt::format("{}; {} --help{} lists those that it has", sentence, who, is_program ? "" : "-all");
}

}  // namespace

std::string about_unknown_words(const CLI::App& program) {
  const std::vector<std::string> words = program.remaining(true);
  const std::vector<const CLI::App*> chosen = program.get_subcommands([](const CLI::App* command) { return command->parsed(); });
  if (words.empty()) return "too many words";
  const std::string& word = words.front();
  const CLI::App& command = chosen.empty() ? program : *chosen.front();
  if (word.size() > 1 && word.starts_with('-')) return about_option(program, command, word);
  if (!chosen.empty())
    return fmt::format("sharpmax {} does not take the word {}; sharpmax {} --help shows what it takes", command.get_name(),
                       in_quotes(word), command.get_name());
  const std::string sentence =
      with_suggestion(fmt::format("there is no command {}", in_quotes(word)), word, command_names(program));
  return sentence.ends_with('?') ? sentence : sentence + "; sharpmax --help lists the commands";
}

}  // namespace sharpmax::cli
