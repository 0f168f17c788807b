// Elements of views whose type is known at run time, read and written in double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/float16.h"
#include "sharpmax/tensor.h"

namespace sharpmax {

// Calls f(T{}) with the storage type that `type` names.
template <class F>
decltype(auto) with_type_of(DType type, F&& f) {
  switch (type) {
    case DType::bfloat16: return f(bfloat16{});
    case DType::float16: return f(float16{});
    case DType::float64: return f(double{});
    case DType::float32: break;
  }
  return f(float{});
}

template <class T>
double to_double(T value) noexcept {
  if constexpr (std::is_arithmetic_v<T>) return value;
  else return to_float(value);
}

template <class T>
T from_double(double value) noexcept {
  if constexpr (std::is_same_v<T, bfloat16>) return to_bfloat16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, float16>) return to_float16(static_cast<float>(value));
  else return static_cast<T>(value);
}

// Which row of a [batch, head, row, element] view.
struct RowIndex {
  std::int64_t batch = 0, head = 0, row = 0;
};

template <class View>
std::int64_t row_offset(const View& view, const RowIndex& at) noexcept {
  return at.batch * view.strides[0] + at.head * view.strides[1] + at.row * view.strides[2];
}

// The last stride is respected: masks and biases may be broadcast there.
inline void read_row(const AnyTensor<4>& view, const RowIndex& at, std::span<double> row) noexcept {
  with_type_of(view.dtype, [&]<class T>(T) {
    const T* source = static_cast<const T*>(view.data) + row_offset(view, at);
    const std::int64_t step = view.strides[3];
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = to_double(source[static_cast<std::int64_t>(i) * step]);
    }
  });
}

inline void write_row(const AnyMutableTensor<4>& view, const RowIndex& at, std::span<const double> row) noexcept {
  with_type_of(view.dtype, [&]<class T>(T) {
    T* target = static_cast<T*>(view.data) + row_offset(view, at);
    for (std::size_t i = 0; i < row.size(); ++i) target[i] = from_double<T>(row[i]);
  });
}

// Half the lowest finite value of a type: an additive bias at or below it is a mask.
inline double mask_bias(DType type) noexcept {
  switch (type) {
    case DType::bfloat16: return -0x1.fep126;
    case DType::float16: return -32752.0;
    case DType::float64: return -0x1.fffffffffffffp1022;
    case DType::float32: break;
  }
  return -0x1.fffffep126;
}

}  // namespace sharpmax
