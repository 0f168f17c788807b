// The door of Python to models and jobs.
#pragma once

#include <nanobind/nanobind.h>

namespace sharpmax::python {

void bind_engine(nanobind::module_& m);  // main, check_output, report_page
void bind_jobs(nanobind::module_& m);    // fields, run
void bind_model(nanobind::module_& m);   // Model, Generation

}  // namespace sharpmax::python
