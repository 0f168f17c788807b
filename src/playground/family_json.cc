#include "playground/family_json.h"

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

#include "base/numbers.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::playground {
namespace {

// The words of the family are printable ASCII, and a test reads them all back.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class Items, class Text>
std::string array_of(const Items& items, Text&& text) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += text(item);
  }
  return out + ']';
}

// A choice is told by its word, one number as itself, several as an array.
std::string default_of(const ParameterInfo& parameter) {
  const std::vector<double>& values = parameter.default_value;
  if (values.size() != 1) return array_of(values, decimal_text);
  if (parameter.choices.empty()) return decimal_text(values[0]);
  return quoted(parameter.choices[std::isnan(values[0]) ? 0 : static_cast<std::size_t>(values[0])]);
}

std::string parameter_json(const ParameterInfo& parameter) {
  return "{\"name\":" + quoted(parameter.name) + ",\"default\":" + default_of(parameter) +
         ",\"domain\":" + quoted(parameter.domain) +
         ",\"learnable\":" + (parameter.learnable ? "true" : "false") +
         ",\"choices\":" + array_of(parameter.choices, quoted) + '}';
}

std::string member_json(const NormalizerInfo& member) {
  return "{\"name\":" + quoted(member.name) + ",\"aliases\":" + array_of(member.aliases, quoted) +
         ",\"formula\":" + quoted(member.formula) +
         ",\"parameters\":" + array_of(member.parameters, parameter_json) +
         ",\"needs_queries_and_keys\":false,\"peak_as_n_grows\":" + quoted(member.peak_as_n_grows) + '}';
}

}  // namespace

std::string family_json() {
  std::vector<NormalizerInfo> members;
  for (NormalizerInfo& member : family()) {
    if (!member.needs_queries_and_keys) members.push_back(std::move(member));
  }
  return "{\"largest_row\":" + std::to_string(kLargestRow) +
         ",\"statistics\":" + array_of(kStatistics, quoted) +
         ",\"normalizers\":" + array_of(members, member_json) + '}';
}

}  // namespace sharpmax::playground
