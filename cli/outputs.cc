#include "cli/outputs.h"

#include <fmt/format.h>

#include <charconv>

#include "base/in_quotes.h"
#include "cli/command.h"
#include "storage/files.h"

namespace sharpmax::cli {
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

std::string wanted_by(const CLI::Option& option) {
  const std::string& shown = option.get_option_text();
  if (option.check_name("--json") || option.check_name("--csv")) return "a file, or '-' for standard output";
  if (shown == "FILE") return "a file";
  if (shown == "DIR") return "a directory";
  if (shown == "N" || shown == "X") return "a number";
  return shown.empty() ? "a value" : "a value (" + shown + ")";
}

}  // namespace

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
  }
}

void deliver(const std::string& where, const std::string& text) {
  if (where == "-")
    print(text);
  else if (!where.empty())
    write_text(where, text);
}

}  // namespace sharpmax::cli
