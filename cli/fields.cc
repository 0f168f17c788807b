#include "cli/fields.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/help.h"

namespace sharpmax::cli {
namespace {

// -o has long names too.
std::string names_of(const Field& field) {
  return field.name == "report" ? "-o,--report,--html" : option_of(field);
}

void annotate(const CLI::App& words, const CLI::Option* option, const Field& field) {
  OptionNote& note = note_of(words, option);
  note.common = field.common;
  note.choices.assign(field.domain.choices.begin(), field.domain.choices.end());
}

}  // namespace

CLI::Option* add_field(CLI::App& words, const Field& field, const std::string& otherwise,
                       std::function<void(const std::vector<std::string>&)> given) {
  const std::string meaning = otherwise.empty() ? std::string(field.meaning)
                                                : fmt::format("{} (default {})", field.meaning, otherwise);
  CLI::Option* const option =
      words.add_option_function<std::vector<std::string>>(names_of(field), std::move(given), meaning);
  const bool positional = !names_of(field).starts_with('-');
  option->expected(1)->allow_extra_args(false)->option_text(positional ? " " : std::string(field.shape));
  if (!field.group.empty()) option->group(std::string(field.group));
  annotate(words, option, field);
  return option;
}

CLI::Option* add_flag_field(CLI::App& words, const Field& field, bool& value) {
  CLI::Option* const option = words.add_flag(names_of(field), value, std::string(field.meaning));
  annotate(words, option, field);
  return field.group.empty() ? option : option->group(std::string(field.group));  // CLI11 hides those of an empty group
}

}  // namespace sharpmax::cli
