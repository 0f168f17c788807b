#include "sharpmax/machine.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "attention.h"

namespace sharpmax::python {

namespace nb = nanobind;

void bind_machine(nb::module_& m) {
  m.def("targets", available_targets);
  m.def("current_target", current_target);
  m.def("force_target", force_target, nb::arg("name"));
  m.def("default_threads", default_threads);
  m.attr("version") = nb::str(version().data(), version().size());
}

}  // namespace sharpmax::python
