#include "cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <sstream>

#include "base/in_quotes.h"
#include "cli/table.h"
#include "normalizer/definition.h"

namespace sharpmax::cli {
namespace {

constexpr std::size_t kNameColumn = 26;

bool is_about_help(const CLI::Option* option) { return option->check_name("--help") || option->check_name("--help-all"); }

// The end of the footer: explanations stand before the examples.
std::string examples_of(const CLI::App* command) {
  const std::string footer = command->get_footer();
  const std::size_t at = footer.find("Examples:");
  return (at == std::string::npos ? footer : footer.substr(at)) + "\n";
}

// CLI11 puts two empty lines between groups.
std::string with_single_gaps(std::string text) {
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

}  // namespace

WrappingFormatter::WrappingFormatter() { column_width(kNameColumn); }

std::string WrappingFormatter::make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const {
  const bool all = mode == CLI::AppFormatMode::All;
  return with_single_gaps(make_description(command) + make_usage(command, std::move(name)) + make_positionals(command) +
                          (all ? make_groups(command, CLI::AppFormatMode::Normal) : common_options(command)) +
                          make_subcommands(command, CLI::AppFormatMode::Normal) + "\n" +
                          (all ? make_footer(command) : examples_of(command)));
}

std::string WrappingFormatter::common_options(const CLI::App* command) const {
  std::vector<const CLI::Option*> common;
  std::size_t rest = 0;
  for (const CLI::Option* option : options_with_names(*command)) {
    const auto note = notes.find(option);
    if (note != notes.end() && note->second.common)
      common.push_back(option);
    else if (!is_about_help(option))
      ++rest;
  }
  std::ostringstream out;
  if (!common.empty() || rest > 0) out << make_group("Options", false, common);
  if (rest > 0) CLI::detail::format_help(out, "--help-all", fmt::format("Show {} more option{}, by topic", rest, rest == 1 ? "" : "s"), kNameColumn);
  return out.str();
}

std::string WrappingFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_option_text().empty() ? "" : " " + option->get_option_text();
}

std::string WrappingFormatter::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), kScreenWidth - kNameColumn);
}

std::string WrappingFormatter::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  std::string first_sentence = command->get_description();
  first_sentence = first_sentence.substr(0, first_sentence.find('.'));
  CLI::detail::format_help(out, command->get_display_name(true),
                           wrapped(first_sentence, kScreenWidth - kNameColumn), kNameColumn);
  return out.str();
}

std::string WrappingFormatter::make_description(const CLI::App* command) const {
  return wrapped(command->get_description()) + "\n\n";
}

void add_json_option(CLI::App& words, std::string& json, std::string_view schema, const char* group) {
  words.add_option("--json", json, fmt::format("File for the results, schema {}; - is standard output", schema))
      ->option_text("FILE")
      ->group(group);
}

void add_overwrite_option(CLI::App& words, bool& overwrite, const char* group) {
  words
      .add_flag("--overwrite", overwrite,
                "Replace existing files of another kind; an input is never replaced")
      ->group(group);
}

OptionNote& note_of(const CLI::App& command, const CLI::Option* option) {
  return std::dynamic_pointer_cast<WrappingFormatter>(command.get_formatter())->notes[option];
}

void mark_common(const CLI::App& command, std::initializer_list<const char*> options) {
  for (const char* name : options) note_of(command, command.get_option(name)).common = true;
}

std::vector<const CLI::App*> commands_of(const CLI::App& program) {
  return program.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> options_with_names(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

namespace {

// "-" is a file, "-1" and "-inf" are numbers, "- item" is a text.
bool looks_like_an_option(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  const bool letter = (word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z');
  double number = 0.0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool is_number = error == std::errc{} && end == word.data() + word.size();
  return (letter || word[1] == '-') && !is_number;
}

const CLI::Option* option_named(const CLI::App& words, const std::string& name) {
  if (!looks_like_an_option(name)) return nullptr;
  for (const CLI::Option* option : words.get_options())
    if (option->check_name(name)) return option;
  return nullptr;
}

// Texts for a model; what takes them has its own sentence about an empty one.
bool may_be_empty(const CLI::Option& option) {
  return option.check_name("--prompt") || option.check_name("--system") || option.check_name("--text-string");
}

std::string wanted_by(const CLI::Option& option) {
  const std::string& shown = option.get_option_text();
  if (option.check_name("--json") || option.check_name("--csv")) return "a file, or '-' for standard output";
  if (shown == "FILE") return "a file";
  if (shown == "DIR") return "a directory";
  if (shown == "N" || shown == "X") return "a number";
  return shown.empty() ? "a value" : "a value (" + shown + ")";
}

}  // namespace

void check_values(const CLI::App& words, const std::vector<std::string>& typed, std::size_t first) {
  for (std::size_t i = first; i < typed.size() && typed[i] != "--"; ++i) {
    const bool empty = typed[i].ends_with('=');  // --json= takes the next word too
    const std::string name = empty ? typed[i].substr(0, typed[i].size() - 1) : typed[i];
    const CLI::Option* option = option_named(words, name);
    if (!option || option->get_items_expected_min() == 0) continue;
    if (empty || i + 1 == typed.size()) throw Usage(fmt::format("{} needs {}", name, wanted_by(*option)));
    if (looks_like_an_option(typed[i + 1]))
      throw Usage(fmt::format("{} needs {}, and {} follows it; a value that begins with a dash is written "
                              "--{}=VALUE",
                              name, wanted_by(*option), in_quotes(typed[i + 1]),
                              option->get_lnames().front()));
    ++i;  // the value
    if (typed[i].empty() && !may_be_empty(*option)) throw Usage(fmt::format("{} needs {}; '' is empty", name, wanted_by(*option)));
  }
}

namespace {

std::string with_suggestion(const std::string& sentence, std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return sentence + suggestion(word, views);
}

std::vector<std::string> command_names(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(program))
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
  for (const CLI::App* command : commands_of(program)) {
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
  const std::string unknown = fmt::format("there is no command {}", in_quotes(word));
  if (program.get_option_no_throw("--" + word)) return fmt::format("{}; did you mean --{}?", unknown, word);
  const std::string sentence = with_suggestion(unknown, word, command_names(program));
  return sentence.ends_with('?') ? sentence : sentence + "; sharpmax --help lists the commands";
}

}  // namespace sharpmax::cli
