// Results as JSON and back, from one list of members.
//
// A type lists its members once, in Type::each_member(self, visit), which calls visit(name, member) for each, in the order of
// the JSON; visit.optional(name, member) leaves a std::optional out when it is empty, where visit(name, member) writes null.
// visit.group(name, list) calls list(visit) for the members of an object within, and visit.json_text(name, member) is for a
// string that is JSON itself. visit.fields(part) is for the fields that a type lists (Type::each_field), each under its name:
// so a setting of a result is called what its option and its keyword are called.
// to_json() writes that list, from_json() reads it. A number that is not finite is null in JSON, and null is not-a-number in a
// member of floating point.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sharpmax/job.h"

namespace sharpmax {

template <class T>
Json json_of(const T& value);
template <class T>
void read_json(const Json& json, T& value);

namespace internal {

struct AnyVisit {
  void operator()(const char*, const auto&) const {}
  void optional(const char*, const auto&) const {}
  void json_text(const char*, const auto&) const {}
  void group(const char*, const auto& list) const { list(*this); }
  void fields(const auto&) const {}
};

template <class T>
concept HasMembers = requires(T& value, AnyVisit visit) { T::each_member(value, visit); };

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsPair = false;
template <class A, class B>
inline constexpr bool kIsPair<std::pair<A, B>> = true;

// for_ is "for" in JSON. The contents of a file are not a setting, but its name is; a table is JSON itself.
inline std::string key_of(const Field& field) { return std::string(field.name.substr(0, field.name.find_last_not_of('_') + 1)); }
inline bool is_setting(const Field& field) { return field.kind != Field::Kind::memory; }

// A text that was not given is null.
struct FieldWriter {
  Json& json;
  template <class T>
  void operator()(const Field& field, const T& value) const {
    if (is_setting(field)) json[key_of(field)] = json_of(value);
  }
  void operator()(const Field& field, const std::optional<std::string>& value) const {
    const bool is_json = value && field.kind == Field::Kind::table;
    if (is_setting(field)) json[key_of(field)] = is_json ? Json::parse(*value) : json_of(value);
  }
  void operator()(const Field& field, const std::string& value) const {
    json[key_of(field)] = value.empty() ? Json() : Json(value);
  }
};
struct FieldReader {
  const Json& json;
  template <class T>
  void operator()(const Field& field, T& value) const {
    if (is_setting(field)) read_json(json.at(key_of(field)), value);
  }
  void operator()(const Field& field, std::optional<std::string>& value) const {
    if (!is_setting(field)) return;
    const Json& found = json.at(key_of(field));
    read_json(found.is_object() && field.kind == Field::Kind::table ? Json(found.dump()) : found, value);
    if (value && field.kind == Field::Kind::table) static_cast<void>(found.get_ref<const Json::object_t&>());  // or throws
  }
  void operator()(const Field& field, std::string& value) const {
    const Json& found = json.at(key_of(field));
    value = found.is_null() ? std::string() : found.get<std::string>();
  }
};

struct Writer {
  Json& json;
  template <class T>
  void operator()(const char* name, const T& value) const {
    json[name] = json_of(value);
  }
  template <class T>
  void optional(const char* name, const std::optional<T>& value) const {
    if (value) json[name] = json_of(*value);
  }
  void json_text(const char* name, const std::string& text) const { json[name] = Json::parse(text); }
  template <class List>
  void group(const char* name, const List& list) const {
    Json& within = json[name] = Json::object();
    list(Writer{within});
  }
  template <class Part>
  void fields(const Part& part) const {
    Part::each_field(part, FieldWriter{json});
  }
};

struct Reader {
  const Json& json;
  template <class T>
  void operator()(const char* name, T& value) const {
    read_json(json.at(name), value);
  }
  template <class T>
  void optional(const char* name, std::optional<T>& value) const {
    const auto found = json.find(name);
    if (found == json.end())
      value.reset();
    else
      read_json(*found, value.emplace());
  }
  void json_text(const char* name, std::string& text) const { text = json.at(name).dump(); }
  template <class List>
  void group(const char* name, const List& list) const {
    list(Reader{json.at(name)});
  }
  template <class Part>
  void fields(Part& part) const {
    Part::each_field(part, FieldReader{json});
  }
};

}  // namespace internal

template <class T>
Json json_of(const T& value) {
  if constexpr (internal::HasMembers<const T>) {
    Json json = Json::object();
    T::each_member(value, internal::Writer{json});
    return json;
  } else if constexpr (internal::kIsOptional<T>) {
    return value ? json_of(*value) : Json();
  } else if constexpr (internal::kIsVector<T>) {
    Json list = Json::array();
    for (const auto& one : value) list.push_back(json_of(one));
    return list;
  } else if constexpr (internal::kIsPair<T>) {
    return Json::array({json_of(value.first), json_of(value.second)});
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? Json(value) : Json();
  } else {
    return value;
  }
}

template <class T>
void read_json(const Json& json, T& value) {
  if constexpr (internal::HasMembers<T>) {
    T::each_member(value, internal::Reader{json});
  } else if constexpr (internal::kIsOptional<T>) {
    if (json.is_null())
      value.reset();
    else
      read_json(json, value.emplace());
  } else if constexpr (internal::kIsVector<T>) {
    value.clear();
    for (const Json& one : json.template get_ref<const Json::array_t&>()) read_json(one, value.emplace_back());
  } else if constexpr (internal::kIsPair<T>) {
    read_json(json.at(0), value.first);
    read_json(json.at(1), value.second);
  } else if constexpr (std::is_floating_point_v<T>) {
    value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.template get<T>();
  } else {
    json.get_to(value);
  }
}

// The result in `json`, which must be of this schema. Throws Error{bad_file} naming what is wrong. `read` may throw
// nlohmann's exceptions.
template <class Read>
auto read_results(const Json& json, std::string_view schema, const Read& read) {
  try {
    if (const std::string found = json.at("schema").get<std::string>(); found != schema)
      throw Error(ErrorCode::bad_file, "these are results of schema " + found + "; expected " + std::string(schema));
    return read(json);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::bad_file, "not results of schema " + std::string(schema) + ": " + error.what());
  }
}

// Settings that list fields (Settings::each_field) as an object, each under its name.
template <class Settings>
Json json_of_fields(const Settings& settings) {
  Json json = Json::object();
  Settings::each_field(settings, internal::FieldWriter{json});
  return json;
}
template <class Settings>
void read_fields(const Json& json, Settings& settings) {
  Settings::each_field(settings, internal::FieldReader{json});
}

}  // namespace sharpmax
