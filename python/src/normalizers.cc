#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <string>

#include "attention.h"
#include "sharpmax/error.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::python {
namespace {

namespace nb = nanobind;

nb::dict info_of(const NormalizerInfo& info) {
  nb::list parameters;
  for (const ParameterInfo& parameter : info.parameters) {
    nb::dict entry;
    entry["name"] = parameter.name;
    entry["default"] = parameter.default_value;
    entry["domain"] = parameter.domain;
    entry["learnable"] = parameter.learnable;
    entry["choices"] = parameter.choices;
    parameters.append(entry);
  }
  nb::dict entry;
  entry["name"] = info.name;
  entry["aliases"] = info.aliases;
  entry["formula"] = info.formula;
  entry["peak_as_n_grows"] = info.peak_as_n_grows;
  entry["parameters"] = parameters;
  entry["needs_queries_and_keys"] = info.needs_queries_and_keys;
  return entry;
}

// --- Values of parameters, as Python has them and as text has them --------------------------------

[[noreturn]] void refuse_value(std::string_view name, nb::handle value) {
  throw nb::type_error((std::string(name) + " is a " + nb::type_name(value.type()).c_str() +
                        "; it must be a number, a sequence with one for each head, or one of its words")
                           .c_str());
}

bool is_sequence(nb::handle value) {
  return nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
}

std::string number_text(std::string_view name, nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred()) {
    PyErr_Clear();
    refuse_value(name, value);
  }
  return nb::cast<std::string>(nb::repr(nb::float_(number)));  // every digit, as float() reads it back
}

std::string value_text(std::string_view name, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  // An array or a tensor: what it holds, as Python's own numbers.
  nb::object plain = nb::borrow(value);
  if (nb::hasattr(value, "tolist")) plain = value.attr("tolist")();
  if (!is_sequence(plain)) return number_text(name, plain);
  std::string text;
  for (nb::handle item : plain) {
    if (!text.empty()) text += '/';
    text += number_text(name, item);
  }
  return text;
}

AnyNormalizer make_normalizer(nb::object text_or_name, const nb::kwargs& parameters) {
  if (!nb::isinstance<nb::str>(text_or_name)) {
    throw nb::type_error((std::string("normalizer is a ") + nb::type_name(text_or_name.type()).c_str() +
                          "; it must be text such as 'softmax:beta=2'")
                             .c_str());
  }
  const std::string text = nb::cast<std::string>(text_or_name);
  if (parameters.size() == 0) return AnyNormalizer::parse(text);
  std::string whole = text;
  char separator = text.find(':') == std::string::npos ? ':' : ',';
  for (const auto& [key, value] : parameters) {
    const std::string name = nb::cast<std::string>(key);
    whole += separator + name + '=' + value_text(name, value);
    separator = ',';
  }
  return AnyNormalizer::parse(whole);
}

const NormalizerInfo& info_by_name(std::string_view name) {
  static const std::vector<NormalizerInfo> members = family();
  for (const NormalizerInfo& member : members) {
    if (member.name == name) return member;
  }
  throw Error(ErrorCode::bad_argument, "there is no normalizer '" + std::string(name) + "'");
}

nb::object python_value(const ParameterInfo& info, const Parameter& parameter) {
  const auto values = parameter.values();
  const auto one = [&](double value) -> nb::object {
    if (info.choices.empty() || (info.choices.size() == 1 && !std::isnan(value))) return nb::float_(value);
    const std::size_t index = std::isnan(value) ? 0 : static_cast<std::size_t>(value);
    return nb::cast(info.choices[index]);
  };
  if (values.size() == 1) return one(values[0]);
  nb::list all;
  for (const double value : values) all.append(one(value));
  return all;
}

nb::dict parameters_of(const AnyNormalizer& normalizer) {
  const NormalizerInfo& info = info_by_name(normalizer.name());
  nb::dict all;
  for (std::size_t i = 0; i < info.parameters.size(); ++i) {
    all[nb::cast(info.parameters[i].name)] = python_value(info.parameters[i], normalizer.parameters()[i]);
  }
  return all;
}

nb::object parameter_by_name(nb::handle self, const std::string& name) {
  const nb::dict all = parameters_of(nb::cast<const AnyNormalizer&>(self));
  if (all.contains(name.c_str())) return all[name.c_str()];
  const std::string message = "'Normalizer' object has no attribute '" + name + "'";
  throw nb::attribute_error(message.c_str());
}

AnyNormalizer replaced(nb::handle self, const nb::kwargs& changes) {
  const AnyNormalizer& normalizer = nb::cast<const AnyNormalizer&>(self);
  nb::kwargs all = nb::cast<nb::kwargs>(nb::object(parameters_of(normalizer)));
  for (const auto& [key, value] : changes) all[key] = value;
  return make_normalizer(nb::cast(normalizer.name()), all);
}

}  // namespace

void bind_normalizers(nb::module_& m) {
  nb::class_<AnyNormalizer>(
      m, "Normalizer",
      "A member of the family with its parameters: an immutable value.\n\n"
      "``Normalizer(\"softmax:beta=2\")``, ``Normalizer(\"ssmax\", s=[0.4, 0.5])``: by text, or by name and\n"
      "parameters. A sequence gives one value per query head; choices are given by their word. Parameters\n"
      "can be read as attributes; ``replace(beta=3)`` gives a changed copy. ``family()`` lists all members.")
      .def(nb::new_(&make_normalizer), nb::arg("text").none(), nb::arg("parameters"))
      .def_prop_ro("name", &AnyNormalizer::name)
      .def_prop_ro("text", &AnyNormalizer::text, "Normalizer(text) gives back this value, bit for bit.")
      .def_prop_ro("parameters", parameters_of,
                   "Name to value: a float, a word, or a list with one for each head.")
      .def("replace", replaced, nb::arg("changes"), "A copy with other parameters.")
      .def("__getattr__", parameter_by_name, nb::arg("name"))
      .def(nb::self == nb::self)
      .def("__hash__", [](const AnyNormalizer& n) { return std::hash<std::string>{}(n.text()); })
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple(self.attr("text"))); })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); }, nb::arg("memo"))
      .def("__repr__", [](const AnyNormalizer& n) { return "Normalizer('" + n.text() + "')"; });
  m.def(
      "family",
      [] {
        nb::list members;
        for (const NormalizerInfo& info : family()) members.append(info_of(info));
        return members;
      },
      "Every member: name, aliases, formula, what its peak does as n grows, parameters.");
}

}  // namespace sharpmax::python
