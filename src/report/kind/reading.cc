#include "report/kind/reading.h"

#include <fmt/format.h>

#include <string_view>

#include "report/view/looks.h"
#include "sharpmax/error.h"

namespace sharpmax::report {
namespace {

constexpr std::size_t kLongestFact = 2000;

std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// A value of the settings, whatever it is.
std::string setting_text(const Json& value) {
  if (value.is_null()) return std::string(kNone);
  if (value.is_number()) return value.is_number_float() ? plain_number(value.get<double>()) : count(value.get<double>());
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  std::string text;
  for (const auto& [name, part] : value.items()) {
    if (!text.empty()) text += value.is_array() ? ", " : "; ";
    text += (value.is_array() ? "" : spaced(name) + " ") + setting_text(part);
  }
  return text;
}

void add_facts(View& view, const Json& settings) {
  for (const auto& [name, value] : settings.items()) {
    if (name == "model") continue;
    std::string text = setting_text(value);
    if (text.size() > kLongestFact)
      view.left_out.push_back(name == "normalizers" ? "the table of normalizers by head" : spaced(name));
    else
      view.facts.emplace_back(name == "file" ? "model" : spaced(name), std::move(text));
  }
}

// What a command was told stands among its results where it has no settings of their own.
bool is_told(std::string_view name, const Json& value) {
  for (const char* apart : {"schema", "sharpmax", "command", "created", "seconds", "verdict", "complete", "likeliest_right"})
    if (name == apart) return false;
  return value.is_null() || value.is_number() || value.is_string();
}

}  // namespace

std::string text_or_none_at(const Json& from, const char* name) {
  return from.at(name).is_null() ? "" : text_at(from, name);
}

double size_at(const Json& from, const char* name) {
  const double size = from.at(name).get<double>();
  if (!(size > 0.0))
    throw Error(ErrorCode::bad_argument, fmt::format("report: the size {} is {}; it must be above 0", name, size));
  return size;
}

Table fields_table(Table begun, const Json& list, std::initializer_list<FieldColumn> columns) {
  for (const FieldColumn& one : columns) begun.columns.push_back(one.column);
  for (const Json& entry : list) {
    auto& row = begun.rows.emplace_back();
    for (const auto& [field, column] : columns) row.push_back(column.left() ? Cell(text_at(entry, field)) : Cell(number_at(entry, field)));
  }
  return begun;
}

Axis counts_axis(std::string label, std::string symbol, std::span<const double> sizes) {
  Axis axis = size_axis(std::move(label), sizes);
  axis.format = {Format::count};
  axis.symbol = std::move(symbol);
  return axis;
}

void add_point(Curve& curve, double at, const std::optional<double>& value, const std::optional<double>& low, const std::optional<double>& high) {
  if (value) curve.points.push_back({at, *value, low, high});
}

void list_names(Words& words, const std::vector<Words>& names, std::size_t most) {
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    if (i > 0) words << std::string(", ");
    for (const Words::Part& part : names[i].parts) words << part;
  }
  words << (names.size() > most ? fmt::format(" and {}.", plural(static_cast<double>(names.size() - most), "other")) : ".");
}

std::string normalizer_of(const Json& model) {
  return model.contains("normalizer") && model.at("normalizer").is_string() ? model.at("normalizer").get<std::string>()
                                                                            : "a table of normalizers";
}

View begun_view(const Json& results, Origin origin) {
  View view;
  view.schema = text_at(results, "schema");
  if (origin == Origin::command) view.command = text_or_none_at(results, "command");
  view.complete = !results.contains("complete") || truth_at(results, "complete");
  const std::string version = text_or_none_at(results, "sharpmax");
  view.facts.emplace_back("sharpmax", version.empty() ? std::string(kNone) : version);
  if (results.contains("created")) view.facts.emplace_back("date", text_or_none_at(results, "created"));
  if (results.contains("seconds") && !results.at("seconds").is_object())
    if (const auto seconds = number_at(results, "seconds"))
      view.facts.emplace_back("time taken", decimal(*seconds, 1) + " s");
  Json told = Json::object();
  for (const auto& [name, value] : results.items())
    if (is_told(name, value)) told[name] = value;
  add_facts(view, told);
  if (results.contains("settings")) add_facts(view, results.at("settings"));
  const Json& of = results.contains("model") ? results : results.value("settings", Json::object());
  if (of.contains("model")) add_facts(view, of.at("model"));
  return view;
}

std::vector<std::string> shown_first(const std::vector<std::string>& names, std::initializer_list<const char*> story) {
  constexpr std::size_t kFew = 6, kInstead = 4;
  if (names.size() <= kFew) return names;
  std::vector<std::string> first;
  for (const std::string& name : names)
    if (std::any_of(story.begin(), story.end(), [&](const char* one) { return family_of(name) == one; }))
      first.push_back(name);
  if (first.empty()) first.assign(names.begin(), names.begin() + kInstead);
  return first;
}

}  // namespace sharpmax::report
