#include "cli/help.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "cli/table.h"

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
  out << make_group("Options", false, common);
  if (rest > 0) CLI::detail::format_help(out, "--help-all", fmt::format("{} more, by topic", rest), kNameColumn);
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

OptionNote& note_of(const CLI::App& command, const CLI::Option* option) {
  return std::dynamic_pointer_cast<WrappingFormatter>(command.get_formatter())->notes[option];
}

void mark_common(const CLI::App& command, std::initializer_list<const char*> options) {
  for (const char* name : options) note_of(command, command.get_option(name)).common = true;
}

std::vector<const CLI::Option*> options_with_names(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->nonpositional() && !option->get_group().empty(); });
}

}  // namespace sharpmax::cli
