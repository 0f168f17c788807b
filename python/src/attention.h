// The door of Python to attention: requests, results and the normalizers.
#pragma once

#include <nanobind/nanobind.h>

namespace sharpmax::python {

void bind_attention(nanobind::module_& m);    // attend, normalize and their backwards
void bind_normalizers(nanobind::module_& m);  // Normalizer, family
void bind_machine(nanobind::module_& m);      // targets, version, machine_limits

}  // namespace sharpmax::python
