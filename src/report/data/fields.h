// Fields of results as the page takes them: looked for by name, of the type that they must have, and as many
// of a table's columns as there is room for.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace sharpmax::report {

// Copies fields of one object. Each throws what at() and get() throw where a field is missing or of another
// type, and Error{bad_argument} where a size is none.
class Fields {
 public:
  explicit Fields(const nlohmann::ordered_json& from) : from_(from) {}

  Fields& numbers(std::initializer_list<const char*> names);  // null: not measured
  Fields& texts(std::initializer_list<const char*> names);    // null: none
  Fields& sizes(std::initializer_list<const char*> names);    // above 0: axes are logarithmic
  Fields& truths(std::initializer_list<const char*> names);
  // Where it came from: version and command; the date and how long it took where they are told.
  Fields& origin();

  nlohmann::ordered_json take() { return std::move(to_); }

 private:
  const nlohmann::ordered_json& from_;
  nlohmann::ordered_json to_ = nlohmann::ordered_json::object();
};

// A column of a table over objects of one kind.
struct KeptColumn {
  enum Type { number, size, text, truth };

  const char* name;
  Type type = number;
  bool always = false;  // else it is left out where there is no room, and named
};

// {"columns": names, "rows": [[...], ...]}: names need not be repeated for every row. Columns, in the order
// of their weight, until the room is taken; where not even those fit that are always there, the last rows are
// left out. What is left out is named in `left_out`; `rows_name` is what rows are called there.
nlohmann::ordered_json table_within(const nlohmann::ordered_json& rows, const std::vector<KeptColumn>& columns,
                                    std::size_t room, const char* rows_name,
                                    nlohmann::ordered_json& left_out);

// Bytes of it in the page, about.
std::size_t size_of(const nlohmann::ordered_json& data);

// What was told of a model and how it ran; a table of normalizers by head is left out, and said, if it takes
// more than `room`.
nlohmann::ordered_json settings_within(const nlohmann::ordered_json& settings, std::size_t room,
                                       nlohmann::ordered_json& left_out);

}  // namespace sharpmax::report
