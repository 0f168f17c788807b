#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "cli/attend.h"
#include "cli/closing.h"
#include "cli/console.h"
#include "cli/outputs.h"
#include "cli/table.h"

namespace sharpmax::cli {
namespace {

constexpr const char* kSchema = "sharpmax.attend.list/1";

// A number that may also be a word ("auto") is not a number until it is set.
bool is_word(const ParameterInfo& parameter) {
  return !parameter.choices.empty() && parameter.default_value.size() == 1;
}

// A choice is shown by its word, a list of numbers as it is written in text.
std::string default_of(const ParameterInfo& parameter) {
  if (is_word(parameter)) {
    const double value = parameter.default_value[0];
    return std::string(parameter.choices.at(std::isnan(value) ? 0 : static_cast<std::size_t>(value)));
  }
  return fmt::format("{}", fmt::join(parameter.default_value, "/"));
}

Json json_of(const ParameterInfo& parameter) {
  Json value;
  if (is_word(parameter)) {
    value = default_of(parameter);
  } else if (parameter.default_value.size() == 1) {
    value = parameter.default_value[0];
  } else {
    value = parameter.default_value;
  }
  return {{"name", parameter.name},
          {"default", value},
          {"domain", parameter.domain},
          {"learnable", parameter.learnable},
          {"choices", parameter.choices}};
}

Json list_json(const std::vector<NormalizerInfo>& members) {
  Json list = Json::array();
  for (const NormalizerInfo& member : members) {
    Json parameters = Json::array();
    for (const ParameterInfo& parameter : member.parameters) parameters.push_back(json_of(parameter));
    list.push_back({{"name", member.name},
                    {"aliases", member.aliases},
                    {"formula", member.formula},
                    {"parameters", parameters},
                    {"needs_queries_and_keys", member.needs_queries_and_keys},
                    {"peak_as_n_grows", member.peak_as_n_grows}});
  }
  return {{"schema", kSchema}, {"normalizers", list}};
}

std::string described(const ParameterInfo& parameter) {
  const bool also_a_number = is_word(parameter) && std::isnan(parameter.default_value[0]);
  std::string text = fmt::format("{}={}: ", parameter.name, default_of(parameter));
  if (is_word(parameter) && !also_a_number) {
    text += fmt::format("{}", fmt::join(parameter.choices, ", "));
  } else {
    text += parameter.domain;
  }
  return text + (parameter.learnable ? "; learnable" : "");
}

}  // namespace

int run_list(const AttendOptions& options) {
  CallFiles(options.overwrite).writes("--json", options.json, results_kind(kSchema)).check();
  const std::vector<NormalizerInfo> members = family();
  if (!options.json.empty()) deliver(options.json, json_text(list_json(members)));
  if (options.json == "-") return kOk;
  const bool colour = colour_wanted();
  std::string text = wrapped(
                         "e_j is a score, m the row's largest, n the number of unmasked keys. Parameters "
                         "go after the name: softmax:beta=2. One value per head is written 1/2/3.") +
                     "\n";
  for (const NormalizerInfo& member : members) {
    constexpr std::size_t kIndent = 4;
    const auto line = [&](std::string_view words) {
      return "    " + wrapped(words, kScreenWidth - kIndent, 0) + "\n";
    };
    const auto indented = [&](std::string block) {
      for (std::size_t at = block.find('\n'); at + 1 < block.size(); at = block.find('\n', at + 1)) {
        block.insert(at + 1, kIndent, ' ');
      }
      return block;
    };
    text += "\n" + inked(member.name, Ink::bold, colour);
    if (!member.aliases.empty()) text += fmt::format(" (also {})", fmt::join(member.aliases, ", "));
    text += "\n" + indented(line(member.formula));
    for (const ParameterInfo& parameter : member.parameters) text += indented(line(described(parameter)));
    text += inked(indented(line(fmt::format("as n grows: {}", member.peak_as_n_grows))), Ink::dim, colour);
  }
  print(text + closing("", "To see what each does as n grows", "attend --demo"));
  return kOk;
}

}  // namespace sharpmax::cli
