// `sharpmax completion SHELL`: a script that completes commands, options and their values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/in_quotes.h"
#include "cli/command.h"
#include "cli/console.h"
#include "sharpmax/normalizer.h"
#include "train/task/task.h"

namespace sharpmax::cli {
namespace {

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
  std::vector<std::string> operands;  // words that may follow the command; files may follow too
};

constexpr std::array kShells = {"bash", "zsh", "fish"};

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

std::vector<std::string> operands_of(const CLI::App& command) {
  if (command.get_name() == "completion") return {kShells.begin(), kShells.end()};
  std::vector<std::string> words;
  if (command.get_name() == "train")
    for (const train::TaskKind* kind : train::task_kinds()) words.emplace_back(kind->name);
  return words;
}

// The commands of a program; the first, without a name, has the options of the program itself.
std::vector<CompletedCommand> completed_commands(const CLI::App& program) {
  std::vector<CompletedCommand> commands;
  const auto add = [&](const CLI::App& app, const std::string& name) {
    CompletedCommand command{name, first_sentence_of(app.get_description()), {}, operands_of(app)};
    for (const CLI::Option* option : options_with_names(app)) command.options.push_back(completed(app, option));
    commands.push_back(std::move(command));
  };
  add(program, "");
  for (const CLI::App* app : commands_of(program)) add(*app, app->get_name());
  return commands;
}

// A text inside single quotes of a shell.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c == '\'') out += "'\\''";
    else if (c == '\\') out += ' ';
    else out += c;
  return out;
}

// The same inside the brackets of a specification of zsh, which has uses of its own for some characters.
std::string plain_in_brackets(std::string text) {
  for (char& c : text)
    if (c == '[' || c == '{') c = '(';
    else if (c == ']' || c == '}') c = ')';
  return plain(text);
}

// "audit:--text|audit:--json", the patterns of a bash case.
std::string bash_patterns(const CompletedCommand& command, const Completed& option) {
  std::string patterns;
  for (const std::string& name : option.names)
    patterns += fmt::format("{}{}:{}", patterns.empty() ? "" : "|", command.name, name);
  return patterns;
}

std::string all_names(const CompletedCommand& command) {
  std::vector<std::string> names;
  for (const Completed& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string command_names_of(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < commands.size(); ++i) names.push_back(commands[i].name);
  return fmt::format("{}", fmt::join(names, " "));
}

std::string zsh_option(const Completed& option) {
  const std::string value = !option.takes_value        ? ""
                            : !option.choices.empty()  ? fmt::format(":value:({})", fmt::join(option.choices, " "))
                            : option.takes_file        ? ":file:_files"
                                                       : ":value:";
  std::string text;
  for (const std::string& name : option.names)
    text += fmt::format(" \\\n        '*{}[{}]{}'", name, plain_in_brackets(option.meaning), value);
  return text;
}

std::string fish_option(const CompletedCommand& command, const Completed& option) {
  const std::string when = command.name.empty() ? "__fish_use_subcommand"
                                                : fmt::format("__fish_seen_subcommand_from {}", command.name);
  std::string names;
  for (const std::string& name : option.names)
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const std::string value = !option.takes_value       ? ""
                            : !option.choices.empty() ? fmt::format(" -x -a '{}'", fmt::join(option.choices, " "))
                            : option.takes_file       ? " -r -F"
                                                      : " -x";
  return fmt::format("complete -c sharpmax -n '{}'{}{} -d '{}'\n", when, names, value, plain(option.meaning));
}

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  std::string values, words, operands;
  for (const CompletedCommand& command : commands) {
    if (!command.operands.empty())
      operands += fmt::format("    {}) COMPREPLY+=($(compgen -W '{}' -- \"$word\")) ;;\n", command.name,
                              fmt::join(command.operands, " "));
    for (const Completed& option : command.options) {
      if (!option.takes_value) continue;
      const std::string patterns = bash_patterns(command, option);
      if (!option.choices.empty())
        values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n", patterns,
                              fmt::join(option.choices, " "));
      else if (option.takes_file)
        values += fmt::format("    {}) IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", patterns);
      else
        values += fmt::format("    {}) return ;;\n", patterns);
    }
    words += fmt::format("    {}) words='{}' ;;\n", command.name.empty() ? "''" : command.name, all_names(command));
  }
  return "# Completion of sharpmax in bash: eval \"$(sharpmax completion bash)\"\n"
         "_sharpmax() {\n"
         "  local IFS=$' \\n' word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= words= i\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
         "  done\n"
         "  COMPREPLY=()\n"
         "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
         "  case $command:$before in\n" +
         values + "  esac\n  case $command in\n" + words +
         "  esac\n"
         "  if [[ $word == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  elif [[ -z $command ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         command_names_of(commands) +
         "' -- \"$word\"))\n"
         "  else\n"
         "    case $command in\n" +
         operands +
         "    esac\n"
         "    IFS=$'\\n'\n"
         "    [[ $command == completion ]] || COMPREPLY+=($(compgen -f -- \"$word\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _sharpmax sharpmax\n";
}

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  std::string described, cases;
  for (const CompletedCommand& command : commands) {
    std::string options;
    for (const Completed& option : command.options) options += zsh_option(option);
    if (command.name.empty()) continue;
    described += fmt::format("    '{}:{}'\n", command.name, plain(command.meaning));
    const std::string operands =
        command.operands.empty() ? ""
                                 : fmt::format(" \\\n        '1:word:{{compadd {}{}}}'", fmt::join(command.operands, " "),
                                               command.name == "completion" ? "" : "; _files");
    cases += fmt::format("    {})\n      _arguments{}{} \\\n        '*:file:_files'\n      ;;\n", command.name, options, operands);
  }
  return "#compdef sharpmax\n"
         "# Completion of sharpmax in zsh: source <(sharpmax completion zsh)\n"
         "_sharpmax() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         described +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=${words[2]}\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ ${funcstack[1]} == _sharpmax ]]; then _sharpmax \"$@\"; else compdef _sharpmax sharpmax; fi\n";
}

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  std::string text = "# Completion of sharpmax in fish: sharpmax completion fish | source\n";
  text += "complete -c sharpmax -n __fish_use_subcommand -f\n";
  for (const CompletedCommand& command : commands) {
    if (!command.name.empty())
      text += fmt::format("complete -c sharpmax -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          plain(command.meaning));
    if (!command.operands.empty())
      text += fmt::format("complete -c sharpmax -n '__fish_seen_subcommand_from {}'{} -a '{}'\n", command.name,
                          command.name == "completion" ? " -f" : "", fmt::join(command.operands, " "));
    for (const Completed& option : command.options) text += fish_option(command, option);
  }
  return text;
}

}  // namespace

Command add_completion(CLI::App& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* words = program.add_subcommand("completion", "Print the completion script for bash, zsh or fish");
  words->footer(kFooter);
  CLI::Option* const option = words->add_option("SHELL", *shell, "Shell: bash, zsh or fish")->option_text(" ")->required();
  option->check([](const std::string& word) {
    if (std::find(kShells.begin(), kShells.end(), word) != kShells.end()) return std::string();
    return fmt::format("{} is unknown; it must be bash, zsh or fish", in_quotes(word));
  });
  return {words, [shell, &program](Call&) {
            const std::vector<CompletedCommand> commands = completed_commands(program);
            print(*shell == "bash"  ? bash_completion(commands)
                  : *shell == "zsh" ? zsh_completion(commands)
                                    : fish_completion(commands));
            return kOk;
          }};
}

}  // namespace sharpmax::cli
