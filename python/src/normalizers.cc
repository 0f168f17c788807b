#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "attention.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::python {
namespace {

namespace nb = nanobind;

nb::list parameter_values(const AnyNormalizer& normalizer) {
  nb::list all;
  for (const Parameter& parameter : normalizer.parameters()) {
    nb::list values;
    for (const double value : parameter.values()) values.append(value);
    all.append(values);
  }
  return all;
}

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

}  // namespace

void bind_normalizers(nb::module_& m) {
  nb::class_<AnyNormalizer>(m, "Normalizer", "A member of the family with its parameters.")
      .def(nb::new_([](const std::string& text) { return AnyNormalizer::parse(text); }), nb::arg("text"))
      .def_prop_ro("name", &AnyNormalizer::name)
      .def_prop_ro("text", &AnyNormalizer::text)
      .def_prop_ro("parameter_values", parameter_values)
      .def(nb::self == nb::self)
      .def("__hash__", [](const AnyNormalizer& n) { return std::hash<std::string>{}(n.text()); })
      .def("__repr__", [](const AnyNormalizer& n) { return "Normalizer('" + n.text() + "')"; });
  m.def("family", [] {
    nb::list members;
    for (const NormalizerInfo& info : family()) members.append(info_of(info));
    return members;
  });
}

}  // namespace sharpmax::python
