#include "fields.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>

namespace sharpmax::python {
namespace {

// The member of a family that an object stands for: a Normalizer, or what __sharpmax_normalizer__() returns.
nb::object as_normalizer(nb::handle value) {
  if (nb::isinstance<AnyNormalizer>(value)) return nb::borrow(value);
  if (nb::hasattr(value, "__sharpmax_normalizer__")) return value.attr("__sharpmax_normalizer__")();
  return nb::none();
}

bool is_path(nb::handle value) { return is_text(value) || nb::hasattr(value, "__fspath__"); }

bool is_number(nb::handle value) {
  return PyIndex_Check(value.ptr()) || nb::hasattr(value, "__float__");
}

std::string path_of(const Field& field, nb::handle value) {
  if (!is_path(value)) refuse_type(field, value, "a path");
  const nb::object path = nb::steal(PyOS_FSPath(value.ptr()));
  if (!path.is_valid()) throw nb::python_error();
  PyObject* encoded = nullptr;  // a str with the bytes of its file name, surrogates and all
  if (PyUnicode_Check(path.ptr()))
    encoded = PyUnicode_EncodeFSDefault(path.ptr());
  else
    encoded = path.inc_ref().ptr();
  if (!encoded) throw nb::python_error();
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  std::string text(bytes.c_str(), bytes.size());
  if (text.empty())
    throw RequestError(ErrorCode::bad_argument, named(field.name) + " is ''; it must be the path of a file");
  return text == "-" ? "./-" : text;  // Python has no standard streams for files
}

std::string table_of(const Field& field, nb::handle value) {
  if (is_path(value)) return path_of(field, value);
  if (!PyMapping_Check(value.ptr())) refuse_type(field, value, "a path or a dict");
  return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(value));
}

std::string joined(const Field& field, nb::handle values) {
  std::string text;
  for (nb::handle one : values) {
    if (!text.empty()) text += ',';
    text += text_of(field, one);
  }
  return text;
}

}  // namespace

void refuse_type(const Field& field, nb::handle value, const char* wanted) {
  const std::string sentence =
      std::string(field.name) + " is a " + nb::type_name(value.type()).c_str() + "; it must be " + wanted;
  const std::size_t dot = sentence.find("builtins.");
  throw nb::type_error((dot == std::string::npos ? sentence : std::string(sentence).erase(dot, 9)).c_str());
}

bool is_text(nb::handle value) { return PyUnicode_Check(value.ptr()); }

std::string utf8_of(const Field& field, nb::handle value) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text) return {text, static_cast<std::size_t>(size)};
  const nb::python_error half;  // a str can hold halves of characters, which no text can
  const auto at = nb::cast<Py_ssize_t>(half.value().attr("start"));
  throw nb::value_error((std::string(field.name) + " holds half a character at " + std::to_string(at) +
                         "; it must be text that UTF-8 can hold")
                            .c_str());
}

std::string text_of(const Field& field, nb::handle value) {
  using Kind = Field::Kind;
  if (field.kind == Kind::input || field.kind == Kind::output || field.name == "model") return path_of(field, value);
  if (field.kind == Kind::table) return table_of(field, value);
  if (is_text(value)) return utf8_of(field, value);
  if (field.kind == Kind::normalizer) {
    if (const auto normalizer = normalizer_of(value)) return normalizer->text();
    refuse_type(field, value, "text such as 'softmax:beta=2' or a Normalizer");
  }
  if (field.shape == "LIST" && is_sequence(value)) return joined(field, value);
  refuse_type(field, value, "a str");
}

bool is_sequence(nb::handle value) {
  if (is_path(value) || PyBytes_Check(value.ptr()) || PyDict_Check(value.ptr()) || !as_normalizer(value).is_none())
    return false;
  return nb::hasattr(value, "__iter__") && !(is_number(value) && !nb::hasattr(value, "__len__"));
}

std::optional<AnyNormalizer> normalizer_of(nb::handle value) {
  const nb::object normalizer = as_normalizer(value);
  if (normalizer.is_none()) return std::nullopt;
  return nb::cast<AnyNormalizer>(normalizer);
}

bool bool_of(const Field& field, nb::handle value) {
  if (PyFloat_Check(value.ptr()) || !nb::hasattr(value, "__bool__"))
    refuse_type(field, value, "True or False");
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

namespace {

// A whole number; bool is none.
nb::object index_of(const Field& field, nb::handle value) {
  if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr())) refuse_type(field, value, "a whole number");
  nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  return index;
}

}  // namespace

std::int64_t integer_of(const Field& field, nb::handle value) {
  const nb::object index = index_of(field, value);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) check_number(field, overflow > 0 ? INFINITY : -INFINITY);
  if (overflow != 0)
    throw RequestError(ErrorCode::bad_argument, named(field.name) + " does not fit into 64 bits");
  return number;
}

std::uint64_t natural_of(const Field& field, nb::handle value) {
  const nb::object index = index_of(field, value);
  const std::string text = nb::cast<std::string>(nb::str(index));
  std::uint64_t number = 0;
  read_field(field, text, number);
  return number;
}

double real_of(const Field& field, nb::handle value) {
  if (PyBool_Check(value.ptr()) || !is_number(value)) refuse_type(field, value, "a number");
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

const char* type_of(const Field& field, const char* of_value) {
  if (field.name == "model") return "model";
  switch (field.kind) {
    case Field::Kind::input:
    case Field::Kind::output:
      return "path";
    case Field::Kind::table:
      return "table";
    case Field::Kind::normalizer:
      return "normalizer";
    case Field::Kind::value:
    case Field::Kind::memory:
      break;
  }
  return of_value;
}

nb::dict described(const Field& field, const char* type, bool is_list, nb::object otherwise) {
  const auto text = [](std::string_view words) { return nb::str(words.data(), words.size()); };
  // What only the command line has stands last in a meaning.
  constexpr std::string_view kDash = "; - is ";
  const std::size_t dash = std::min(field.meaning.find(kDash), field.meaning.size());
  nb::dict entry;
  entry["name"] = text(field.name);
  entry["option"] = field.kind == Field::Kind::memory ? nb::object(nb::none()) : text(option_of(field));
  entry["shape"] = text(field.shape);
  entry["group"] = text(field.group);
  entry["meaning"] = text(field.meaning.substr(0, dash));
  entry["dash"] = text(field.meaning.substr(std::min(dash + kDash.size(), field.meaning.size())));  // "standard input"
  entry["domain"] = text(words_of(field.domain));
  entry["type"] = text(type);
  entry["list"] = nb::bool_(is_list || field.shape == "LIST");
  entry["operand"] = nb::bool_(field.operand);
  entry["default"] = std::move(otherwise);
  return entry;
}

}  // namespace sharpmax::python
