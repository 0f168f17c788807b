// Fields of a request as Python has them: described for signatures and documents, and filled from Python's values.
//
// A value is taken by the type of its field. A str is read as the command line reads a text, so that a wrong one is reported
// in the same words; a value of a type that no text of the field could say is a TypeError.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "job/field_values.h"
#include "retrieval/task/task.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::python {

namespace nb = nanobind;

[[noreturn]] void refuse_type(const Field& field, nb::handle value, const char* wanted);
bool is_text(nb::handle value);
std::string utf8_of(const Field& field, nb::handle value);  // of a str
// A path, a text or a normalizer, as the kind of the field says.
std::string text_of(const Field& field, nb::handle value);
bool is_sequence(nb::handle value);  // of values: no text, no path, no normalizer, no number
std::optional<AnyNormalizer> normalizer_of(nb::handle value);

bool bool_of(const Field& field, nb::handle value);
std::int64_t integer_of(const Field& field, nb::handle value);
std::uint64_t natural_of(const Field& field, nb::handle value);
double real_of(const Field& field, nb::handle value);

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsVector = std::is_same_v<T, Texts>;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;

// A value to be replaced.
template <class T>
T blank() {
  if constexpr (std::is_same_v<T, AnyNormalizer>)
    return Softmax{};
  else
    return T{};
}

template <class T>
void take(const Field& field, nb::handle value, T& member) {
  if constexpr (kIsOptional<T>) {
    take(field, value, member.emplace(blank<typename T::value_type>()));
  } else if constexpr (kIsVector<T>) {
    if (is_text(value)) return read_field(field, utf8_of(field, value), member);
    member.clear();
    if (!is_sequence(value)) return take(field, value, member.emplace_back(blank<typename T::value_type>()));
    for (nb::handle one : value) take(field, one, member.emplace_back(blank<typename T::value_type>()));
  } else if constexpr (std::is_same_v<T, std::string>) {
    member = text_of(field, value);
  } else if constexpr (std::is_same_v<T, bool>) {
    member = bool_of(field, value);
  } else if (is_text(value)) {
    read_field(field, utf8_of(field, value), member);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    member = natural_of(field, value);
  } else if constexpr (std::is_integral_v<T>) {
    const std::int64_t number = integer_of(field, value);
    check_field(field, number);  // before it is made narrower
    member = static_cast<T>(number);
  } else if constexpr (std::is_floating_point_v<T>) {
    member = real_of(field, value);
  } else if constexpr (std::is_same_v<T, AnyNormalizer>) {
    std::optional<AnyNormalizer> normalizer = normalizer_of(value);
    if (!normalizer) refuse_type(field, value, "text such as 'softmax:beta=2' or a Normalizer");
    member = *normalizer;
  } else {
    refuse_type(field, value, "a str");  // the word of an enumeration
  }
}

// --- Descriptions --------------------------------------------------------------------------------

template <class T>
constexpr const char* type_name() {
  if constexpr (kIsOptional<T> || kIsVector<T>)
    return type_name<typename T::value_type>();
  else if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_integral_v<T>)
    return "int";
  else if constexpr (std::is_floating_point_v<T>)
    return "float";
  else if constexpr (std::is_same_v<T, AnyNormalizer>)
    return "normalizer";
  else
    return "str";
}

const char* type_of(const Field& field, const char* of_value);  // "model", "path", "table" too

// A default as Python's own value; None for one that stands for "not given".
template <class T>
nb::object default_of(const T& value) {
  if constexpr (kIsOptional<T>) {
    return value ? default_of(*value) : nb::none();
  } else if constexpr (kIsVector<T>) {
    if (value.empty()) return nb::none();
    nb::list all;
    for (const auto& one : value) all.append(default_of(one));
    return nb::tuple(all);
  } else if constexpr (std::is_same_v<T, bool>) {
    return nb::bool_(value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return nb::steal(PyLong_FromUnsignedLongLong(value));
  } else if constexpr (std::is_integral_v<T>) {
    return nb::steal(PyLong_FromLongLong(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return nb::float_(value);
  } else {
    const std::string text = field_text(value);
    if (text.empty()) return nb::none();
    return nb::str(text.c_str(), text.size());
  }
}

nb::dict described(const Field& field, const char* type, bool is_list, nb::object otherwise);

template <class T>
nb::dict described(const Field& field, const T& value) {
  return described(field, type_of(field, type_name<T>()), kIsVector<T>, default_of(value));
}

}  // namespace sharpmax::python
