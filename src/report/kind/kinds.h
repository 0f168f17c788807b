// The kinds of results that have a view: a kind is one line in kinds.cc and a file that makes its view. And the words in which
// the makers of views read results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
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

// A column of a table whose rows are a list of results: it shows a field, which is called as the column unless another is named
// ("tight.high" is within "tight"), of the type that the format says; or what a function makes of the row.
struct FieldColumn {
  Column column;
  std::function<Cell(const Json&)> cell;

  FieldColumn(Column of, const char* field);
  FieldColumn(std::string name, Format format = kText, const char* field = "", int spare = 0)  // NOLINT: a name is a column
      : FieldColumn(Column{.name = std::move(name), .format = format, .spare = spare}, field) {}
  FieldColumn(Column of, std::function<Cell(const Json&)> made) : column(std::move(of)), cell(std::move(made)) {}
};
// The table with these columns, and a row for each of the list.
Table fields_table(Table begun, const Json& list, std::initializer_list<FieldColumn> columns);

// Sizes on a logarithmic axis that are read as counts: "n = 4,096".
Axis counts_axis(std::string label, std::string symbol, std::span<const double> sizes);
// A point where there is a value.
void add_point(Curve& curve, double at, const std::optional<double>& value, const std::optional<double>& low = {}, const std::optional<double>& high = {});
// Lines to judge curves by: one value at every size, and the entropy of equal weights.
Reference level_line(std::string name, std::span<const double> sizes, double value);
Reference equal_weights_line(std::span<const double> sizes);
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

// A result beside others of its kind.
struct Compared {
  const Json* results = nullptr;
  Named named;
};

// view: takes the results as --json of the command writes them. Strings may hold anything. It throws what at(), get() and
// Error{bad_argument} throw if the results are not what they say.
// compare: adds to the view of a comparison what at least two results of the kind show together. Null: nothing.
struct Kind {
  const char* schema;
  View (*view)(const Json& results);
  void (*compare)(View& view, std::span<const Compared> compared);
};

// By the schema that the results name. Throws Error{bad_argument} where there is no such kind.
const Kind& kind_of(const Json& results);

// These throw Error{bad_argument} where the results are not of a kind or not what their schema says.
// Items and sections that have nothing to show are not in them, so a maker of a view need not ask.
View view_of(const Json& results);
View compared_view(std::span<const Json> results);

// Losses by position are drawn alike in several kinds.
inline constexpr const char* kTokensBefore = "tokens before, up to";
// Linear, round all values and intervals of the curves, which is not from 0: losses differ by little.
Axis loss_axis(const std::vector<Curve>& curves, std::string label = "loss, nats per token");

void add_sections(View& view, std::vector<Section> sections);
void leave_out_empty(View& view);

[[noreturn]] void not_of_schema(const char* schema, const nlohmann::json::exception& problem);

// make(), with what the JSON library throws of a field as Error{bad_argument} that names the schema.
template <class Make>
auto made_of(const Kind& kind, const Make& make) {
  try {
    return make();
  } catch (const nlohmann::json::exception& problem) {
    not_of_schema(kind.schema, problem);
  }
}

}  // namespace sharpmax::report
