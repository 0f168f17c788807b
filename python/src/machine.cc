#include "sharpmax/machine.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "attention.h"
#include "machine/machine_limits.h"

namespace sharpmax::python {

namespace nb = nanobind;

void bind_machine(nb::module_& m) {
  m.def("measure_fma_peak", measure_fma_peak, nb::arg("threads"), nb::arg("seconds"),
        nb::call_guard<nb::gil_scoped_release>());
  nb::class_<ReadBandwidth>(m, "ReadBandwidth")
      .def(nb::init<int>(), nb::arg("threads"))
      .def("measure", &ReadBandwidth::measure, nb::call_guard<nb::gil_scoped_release>());
  m.def("targets", available_targets);
  m.def("current_target", current_target);
  m.def("force_target", force_target, nb::arg("name"));
  m.def("default_threads", default_threads);
  m.attr("version") = nb::str(version().data(), version().size());
}

}  // namespace sharpmax::python
