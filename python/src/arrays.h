// Arrays of other libraries as the views that the library reads and writes. Nothing is copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>

#include "sharpmax/tensor.h"

namespace sharpmax::python {

namespace nb = nanobind;

// An input may be read-only (a NumPy array with writeable=False, a JAX array); an output may not.
using InputArray = nb::ndarray<nb::ro, nb::device::cpu>;
using OutputArray = nb::ndarray<nb::device::cpu>;

// Both throw TypeError, naming the argument, for anything but an array in CPU memory.
InputArray input_array(nb::handle object, const char* name);
OutputArray output_array(nb::handle object, const char* name);

// Views of rank 4 from arrays of rank 1 to 4: missing leading dimensions have size 1.
AnyTensor<4> any_tensor(const InputArray& array, const char* name);
AnyMutableTensor<4> any_mutable_tensor(const OutputArray& array, const char* name);
TensorView<const bool, 4> bool_tensor(const InputArray& array, const char* name);

// Exactly this rank and element type, or TypeError.
TensorView<const double, 3> double_rows(const InputArray& array, const char* name);
template <class T, std::size_t Rank>
TensorView<T, Rank> output_view(const OutputArray& array, const char* name);

}  // namespace sharpmax::python
