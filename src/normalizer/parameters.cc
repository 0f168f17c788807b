#include "normalizer/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/in_quotes.h"
#include "base/numbers.h"
#include "sharpmax/error.h"

namespace sharpmax {
namespace {

// Insertions, deletions, replacements and swaps of neighbors that lead from one word to the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string at_column(std::size_t column) {
  return column == 0 ? std::string() : fmt::format(" (column {})", column);
}

std::string joined(std::span<const std::string_view> words) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) result += i + 1 == words.size() ? " and " : ", ";
    result += words[i];
  }
  return result;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongestWorthGuessing = 32;
  if (word.empty() || word.size() > kLongestWorthGuessing) return {};
  std::string_view nearest;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t edits = edits_between(word, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest.empty() ? std::string() : fmt::format("; did you mean {}?", nearest);
}

namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::bad_argument, "normalizer: " + message);
}

std::string item_text(const ParameterSpec& spec, double value) {
  if (may_be_auto(spec) && std::isnan(value)) return std::string(spec.choices[0]);
  const bool word = spec.kind == ParameterKind::choice && value >= 0.0 &&
                    value < static_cast<double>(spec.choices.size()) && value == std::floor(value);
  return word ? std::string(spec.choices[static_cast<std::size_t>(value)]) : decimal_text(value);
}

bool is_valid(const ParameterSpec& spec, double value) {
  if (may_be_auto(spec) && std::isnan(value)) return true;
  if (!std::isfinite(value)) return false;
  if (spec.kind == ParameterKind::choice) {
    return value >= 0.0 && value < static_cast<double>(spec.choices.size()) && value == std::floor(value);
  }
  return spec.valid == nullptr || spec.valid(value);
}

void check_value(const Definition& definition, const ParameterSpec& spec, const FoundParameter& found) {
  const std::span<const double> values = found.value.values();
  if (values.empty()) {
    refuse(fmt::format("{} of {} has no value{}; it must be {}", spec.name, definition.name,
                       at_column(found.value_column), spec.domain));
  }
  if (spec.kind == ParameterKind::choice && values.size() > 1) {
    refuse(fmt::format("{} of {} has {} values{}; it takes one for all heads", spec.name, definition.name,
                       values.size(), at_column(found.value_column)));
  }
  for (const double value : values) {
    if (is_valid(spec, value)) continue;
    refuse(fmt::format("{} of {} is {}{}; it must be {}", spec.name, definition.name, item_text(spec, value),
                       at_column(found.value_column), spec.domain));
  }
}

}  // namespace

const Definition& require_definition(std::string_view name, std::size_t column) {
  if (const Definition* definition = find_definition(name)) return *definition;
  std::vector<std::string_view> known;
  for (const Definition* definition : all_definitions()) {
    known.push_back(definition->name);
    known.insert(known.end(), definition->aliases.begin(), definition->aliases.end());
  }
  const std::string found = name.empty() ? "the name is missing" : "there is no " + in_quotes(name);
  const std::string close = suggestion(name, known);
  refuse(fmt::format("{}{}{}{} {}", found, at_column(column), close, close.empty() ? "; there are" : " There are",
                     joined(known)));
}

const ParameterSpec& require_parameter(const Definition& definition, std::string_view name,
                                       std::size_t column) {
  std::vector<std::string_view> known;
  for (const ParameterSpec& spec : definition.parameters) {
    if (spec.name == name) return spec;
    known.push_back(spec.name);
  }
  refuse(fmt::format("{} has no parameter {}{}; it has {}", definition.name, in_quotes(name),
                     at_column(column), known.empty() ? "none" : joined(known)));
}

std::vector<Parameter> complete(const Definition& definition, std::span<const FoundParameter> found) {
  std::vector<Parameter> parameters;
  for (const ParameterSpec& spec : definition.parameters) parameters.emplace_back(spec.default_value);
  std::vector<bool> given(parameters.size(), false);
  for (const FoundParameter& item : found) {
    const ParameterSpec& spec = require_parameter(definition, item.name, item.name_column);
    const std::size_t place = static_cast<std::size_t>(&spec - definition.parameters.data());
    if (given[place]) {
      refuse(fmt::format("{} of {} is given twice{}; once is enough", spec.name, definition.name,
                         at_column(item.name_column)));
    }
    check_value(definition, spec, item);
    given[place] = true;
    parameters[place] = item.value;
  }
  return parameters;
}

bool may_be_auto(const ParameterSpec& spec) noexcept {
  return spec.kind == ParameterKind::number && !spec.choices.empty();
}

std::string text_of(const ParameterSpec& spec, const Parameter& parameter) {
  std::string text;
  for (const double value : parameter.values()) {
    if (!text.empty()) text += '/';
    text += item_text(spec, value);
  }
  return text;
}

bool is_default(const ParameterSpec& spec, const Parameter& parameter) {
  const std::span<const double> values = parameter.values();
  return std::equal(spec.default_value.begin(), spec.default_value.end(), values.begin(), values.end(),
                    [](double a, double b) {
                      return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
                    });
}

}  // namespace sharpmax
