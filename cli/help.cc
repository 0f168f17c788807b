#include "cli/help.h"

#include <sstream>

#include "cli/table.h"

namespace sharpmax::cli {
namespace {
constexpr std::size_t kNameColumn = 26;
}

WrappingFormatter::WrappingFormatter() { column_width(kNameColumn); }

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

}  // namespace sharpmax::cli
