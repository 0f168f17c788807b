// `sharpmax completion SHELL`: a script that completes commands, options and their values.
#include "cli/completion.h"

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/help.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kFooter =
    "The script goes to standard output. It completes commands, options, files, and\n"
    "the names of normalizers.\n"
    "\n"
    "Examples:\n"
    "  eval \"$(sharpmax completion bash)\"          in ~/.bashrc\n"
    "  source <(sharpmax completion zsh)           in ~/.zshrc, after compinit\n"
    "  sharpmax completion fish | source           in ~/.config/fish/config.fish";

std::string first_sentence_of(const std::string& text) { return text.substr(0, text.find('.')); }

std::vector<std::string> choices_of(const CLI::App& command, const CLI::Option* option) {
  std::vector<std::string> choices = note_of(command, option).choices;
  if (option->check_name("--normalizer") || option->check_name("--train-normalizer"))
    for (const NormalizerInfo& member : family()) choices.emplace_back(member.name);
  return choices;
}

Completed completed(const CLI::App& command, const CLI::Option* option) {
  Completed out{.meaning = option->get_description()};
  for (const std::string& name : option->get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option->get_lnames()) out.names.push_back("--" + name);
  const std::string& shape = option->get_option_text();
  out.takes_value = option->get_items_expected_min() > 0;
  out.takes_file = shape == "FILE" || shape == "DIR";
  out.choices = choices_of(command, option);
  return out;
}

}  // namespace

std::vector<CompletedCommand> completed_commands(const CLI::App& program) {
  std::vector<CompletedCommand> commands;
  const auto add = [&](const CLI::App& app, const std::string& name) {
    CompletedCommand command{name, first_sentence_of(app.get_description()), {}};
    for (const CLI::Option* option : options_with_names(app)) command.options.push_back(completed(app, option));
    commands.push_back(std::move(command));
  };
  add(program, "");
  for (const CLI::App* app : program.get_subcommands([](const CLI::App*) { return true; })) add(*app, app->get_name());
  return commands;
}

Command add_completion(CLI::App& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* words = program.add_subcommand("completion", "Completion script for bash, zsh or fish");
  words->footer(kFooter);
  CLI::Option* const option = words->add_option("SHELL", *shell, "bash, zsh or fish")->option_text(" ")->required();
  option->check(CLI::IsMember({"bash", "zsh", "fish"}, CLI::ignore_case));
  return {words, [shell, &program] {
            const std::vector<CompletedCommand> commands = completed_commands(program);
            print(*shell == "bash"  ? bash_completion(commands)
                  : *shell == "zsh" ? zsh_completion(commands)
                                    : fish_completion(commands));
            return kOk;
          }};
}

}  // namespace sharpmax::cli
