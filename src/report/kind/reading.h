// Results as the makers of views read them: fields by name, of the type that they must have.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/view/view.h"

namespace sharpmax::report {

using Json = nlohmann::ordered_json;

// A number that is none is null in results. Throws what get() throws where it is anything else.
inline std::optional<double> number_in(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

// Of a field; each throws what at() and get() throw if it is missing or of another type.
inline std::optional<double> number_at(const Json& from, const char* name) { return number_in(from.at(name)); }
inline std::string text_at(const Json& from, const char* name) { return from.at(name).get<std::string>(); }
inline bool truth_at(const Json& from, const char* name) { return from.at(name).get_ref<const bool&>(); }
// A text; empty for null.
std::string text_or_none_at(const Json& from, const char* name);
// Above 0, since axes are logarithmic; else Error{bad_argument}.
double size_at(const Json& from, const char* name);

// Fields that are told among the facts; they throw as those above.
inline void require_numbers(const Json& from, std::initializer_list<const char*> names) {
  for (const char* name : names) static_cast<void>(number_at(from, name));
}
inline void require_texts(const Json& from, std::initializer_list<const char*> names) {
  for (const char* name : names) static_cast<void>(text_or_none_at(from, name));
}
inline void require_truths(const Json& from, std::initializer_list<const char*> names) {
  for (const char* name : names) static_cast<void>(truth_at(from, name));
}

// Throws what at() throws where there is none.
inline const Json& last_of(const Json& list) { return list.at(list.size() - 1); }

inline std::vector<double> numbers_in(const Json& list) {
  std::vector<double> numbers;
  for (const Json& value : list)
    if (const auto number = number_in(value)) numbers.push_back(*number);
  return numbers;
}

template <class Value>
void add_once(std::vector<Value>& known, Value value) {
  if (std::find(known.begin(), known.end(), value) == known.end()) known.push_back(std::move(value));
}

template <class Value>
bool holds(const std::vector<Value>& known, const Value& value) {
  return std::find(known.begin(), known.end(), value) != known.end();
}

// A column that shows a field of every row, of the type that its format says.
struct FieldColumn {
  const char* field;
  Column column;
};
// The table with these columns, and a row for each of the list.
Table fields_table(Table begun, const Json& list, std::initializer_list<FieldColumn> columns);

// Sizes on a logarithmic axis that are read as counts: "n = 4,096".
Axis counts_axis(std::string label, std::string symbol, std::span<const double> sizes);
// A point where there is a value.
void add_point(Curve& curve, double at, const std::optional<double>& value, const std::optional<double>& low = {}, const std::optional<double>& high = {});
// "a, b, c and 4 others.", the first few by name.
void list_names(Words& words, const std::vector<Words>& names, std::size_t most);

// "softmax", or "a table of normalizers".
std::string normalizer_of(const Json& model);

// A view that has schema, command and how the results were made; those of a look into a file name no command.
enum class Origin { command, file };
View begun_view(const Json& results, Origin origin = Origin::command);

// What a result is called beside others of its kind.
struct Named {
  std::size_t number = 0;  // from 1
  std::string label;       // of its view
  std::string name;        // "2: label, what differs"
  std::string own;         // "2: what tells it from others of its kind"
  Look look;
};
std::vector<Named> names_of(const std::vector<View>& views, const std::vector<Json>& results);

// Names of the members that a chart begins with: all of a few, else those that the story is about.
std::vector<std::string> shown_first(const std::vector<std::string>& names, std::initializer_list<const char*> story);

}  // namespace sharpmax::report
