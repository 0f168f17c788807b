#include "arrays.h"

#include <fmt/format.h>

#include "sharpmax/error.h"

namespace sharpmax::python {
namespace {

using Code = nb::dlpack::dtype_code;

// Where arrays without elements point when their library gives them no address: the library reads
// a null pointer as "not given".
alignas(16) char no_elements[16];

bool is(nb::dlpack::dtype type, Code code, int bits) {
  return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
}

std::string python_type_name(nb::handle object) { return nb::type_name(object.type()).c_str(); }

[[noreturn]] void wrong_type(const char* name, const std::string& found, const char* wanted) {
  throw nb::type_error(fmt::format("{} is {}; it must be {}", name, found, wanted).c_str());
}

std::string element_name(nb::dlpack::dtype type) {
  const char* kinds[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const char* kind = type.code < std::size(kinds) ? kinds[type.code] : "unknown";
  return fmt::format("an array of {}{}", kind, type.bits);
}

template <class Array>
DType dtype_of(const Array& array, const char* name) {
  const nb::dlpack::dtype type = array.dtype();
  if (is(type, Code::Float, 32)) return DType::float32;
  if (is(type, Code::Bfloat, 16)) return DType::bfloat16;
  if (is(type, Code::Float, 16)) return DType::float16;
  if (is(type, Code::Float, 64)) return DType::float64;
  wrong_type(name, element_name(type), "float32, bfloat16, float16 or float64");
}

template <class Array>
void extents(const Array& array, const char* name, Extents<4>& shape, Extents<4>& strides) {
  const std::size_t rank = array.ndim();
  if (rank < 1 || rank > 4) {
    throw Error(ErrorCode::bad_argument,
                fmt::format("{} has {} dimensions; it must have between 1 and 4", name, rank));
  }
  shape.fill(1);
  strides.fill(0);
  for (std::size_t i = 0; i < rank; ++i) {
    shape[4 - rank + i] = static_cast<std::int64_t>(array.shape(i));
    strides[4 - rank + i] = array.stride(i);
  }
  // Where no step is ever taken libraries fill in what they like.
  if (array.size() == 0) strides = dense_strides<4>(shape);
  if (shape[3] == 1) strides[3] = 1;
}

template <class Array>
auto* address(const Array& array) {
  using Pointer = decltype(array.data());
  return array.data() != nullptr ? array.data() : static_cast<Pointer>(no_elements);
}

}  // namespace

InputArray input_array(nb::handle object, const char* name) {
  InputArray array;
  if (!nb::try_cast(object, array)) {
    wrong_type(name, fmt::format("a {}", python_type_name(object)), "an array in CPU memory");
  }
  return array;
}

OutputArray output_array(nb::handle object, const char* name) {
  OutputArray array;
  if (!nb::try_cast(object, array)) {
    wrong_type(name, fmt::format("a {}", python_type_name(object)), "a writable array in CPU memory");
  }
  return array;
}

AnyTensor<4> any_tensor(const InputArray& array, const char* name) {
  Extents<4> shape, strides;
  extents(array, name, shape, strides);
  return {address(array), dtype_of(array, name), shape, strides};
}

AnyMutableTensor<4> any_mutable_tensor(const OutputArray& array, const char* name) {
  Extents<4> shape, strides;
  extents(array, name, shape, strides);
  return {address(array), dtype_of(array, name), shape, strides};
}

TensorView<const bool, 4> bool_tensor(const InputArray& array, const char* name) {
  if (!is(array.dtype(), Code::Bool, 8)) wrong_type(name, element_name(array.dtype()), "bool");
  Extents<4> shape, strides;
  extents(array, name, shape, strides);
  return {static_cast<const bool*>(address(array)), shape, strides};
}

TensorView<const double, 3> double_rows(const InputArray& array, const char* name) {
  if (!is(array.dtype(), Code::Float, 64)) wrong_type(name, element_name(array.dtype()), "float64");
  Extents<4> shape, strides;
  extents(array, name, shape, strides);
  return {static_cast<const double*>(address(array)),
          {shape[1], shape[2], shape[3]},
          {strides[1], strides[2], strides[3]}};
}

template <class T, std::size_t Rank>
TensorView<T, Rank> output_view(const OutputArray& array, const char* name) {
  constexpr Code code = std::is_floating_point_v<T> ? Code::Float : Code::Int;
  const char* wanted = std::is_same_v<T, float> ? "float32" : std::is_same_v<T, double> ? "float64" : "int64";
  if (!is(array.dtype(), code, 8 * sizeof(T))) wrong_type(name, element_name(array.dtype()), wanted);
  if (array.ndim() != Rank) {
    throw Error(ErrorCode::bad_argument,
                fmt::format("{} has {} dimensions; it must have {}", name, array.ndim(), Rank));
  }
  TensorView<T, Rank> view;
  view.data = static_cast<T*>(address(array));
  for (std::size_t i = 0; i < Rank; ++i) {
    view.shape[i] = static_cast<std::int64_t>(array.shape(i));
    view.strides[i] = array.stride(i);
  }
  return view;
}

template TensorView<float, 1> output_view<float, 1>(const OutputArray&, const char*);
template TensorView<float, 2> output_view<float, 2>(const OutputArray&, const char*);
template TensorView<double, 2> output_view<double, 2>(const OutputArray&, const char*);
template TensorView<double, 3> output_view<double, 3>(const OutputArray&, const char*);
template TensorView<double, 4> output_view<double, 4>(const OutputArray&, const char*);
template TensorView<std::int64_t, 3> output_view<std::int64_t, 3>(const OutputArray&, const char*);
template TensorView<std::int64_t, 4> output_view<std::int64_t, 4>(const OutputArray&, const char*);

}  // namespace sharpmax::python
