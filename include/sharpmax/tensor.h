// Views of memory that belongs to the caller. A view never owns, copies or frees.
//
// Strides count elements, not bytes, and may be zero (broadcast) or, for inputs, negative.
// The library asks of its inputs only that the last dimension be contiguous (stride 1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sharpmax {

// Storage types: the bits as other libraries lay them out. Arithmetic happens in float.
struct bfloat16 {
  std::uint16_t bits = 0;
};
struct float16 {
  std::uint16_t bits = 0;
};

enum class DType { float32, bfloat16, float16, float64 };

constexpr std::size_t size_of(DType type) noexcept {
  return type == DType::float64 ? 8 : type == DType::float32 ? 4 : 2;
}
const char* name_of(DType type) noexcept;

template <std::size_t Rank>
using Extents = std::array<std::int64_t, Rank>;

// Strides of a dense array, last index fastest.
template <std::size_t Rank>
constexpr Extents<Rank> dense_strides(const Extents<Rank>& shape) noexcept {
  Extents<Rank> strides{};
  std::uint64_t step = 1;  // unsigned: a product that overflows is caught by validation, not here
  for (std::size_t i = Rank; i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>(shape[i]);
  }
  return strides;
}

template <class T, std::size_t Rank>
struct TensorView {
  T* data = nullptr;
  Extents<Rank> shape{};
  Extents<Rank> strides{};

  TensorView() = default;
  TensorView(T* d, const Extents<Rank>& s) : data(d), shape(s), strides(dense_strides<Rank>(s)) {}
  TensorView(T* d, const Extents<Rank>& s, const Extents<Rank>& st) : data(d), shape(s), strides(st) {}
  // A view of mutable elements serves as a view of constant ones.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  TensorView(const TensorView<U, Rank>& other)
      : data(other.data), shape(other.shape), strides(other.strides) {}

  bool present() const noexcept { return data != nullptr; }

  template <class... Index>
  T& operator()(Index... index) const noexcept {
    static_assert(sizeof...(Index) == Rank);
    const std::int64_t at[] = {static_cast<std::int64_t>(index)...};
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < Rank; ++i) offset += at[i] * strides[i];
    return data[offset];
  }
};

namespace internal {
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_const_t<T>;
  static_assert(std::is_same_v<U, float> || std::is_same_v<U, double> ||
                    std::is_same_v<U, bfloat16> || std::is_same_v<U, float16>,
                "attention reads float, double, bfloat16 and float16");
  if constexpr (std::is_same_v<U, float>) return DType::float32;
  if constexpr (std::is_same_v<U, double>) return DType::float64;
  if constexpr (std::is_same_v<U, bfloat16>) return DType::bfloat16;
  return DType::float16;
}
}  // namespace internal

// A view whose element type is known at run time: what the doors take. Void is `const void`
// for inputs and `void` for outputs; build it from a TensorView, or from its parts.
template <class Void, std::size_t Rank>
struct AnyView {
  Void* data = nullptr;
  DType dtype = DType::float32;
  Extents<Rank> shape{};
  Extents<Rank> strides{};

  AnyView() = default;
  AnyView(Void* d, DType t, const Extents<Rank>& s)
      : data(d), dtype(t), shape(s), strides(dense_strides<Rank>(s)) {}
  AnyView(Void* d, DType t, const Extents<Rank>& s, const Extents<Rank>& st)
      : data(d), dtype(t), shape(s), strides(st) {}
  template <class T>
  AnyView(const TensorView<T, Rank>& view)
      : data(view.data), dtype(internal::dtype_of<T>()), shape(view.shape), strides(view.strides) {}

  bool present() const noexcept { return data != nullptr; }
};

template <std::size_t Rank>
using AnyTensor = AnyView<const void, Rank>;
template <std::size_t Rank>
using AnyMutableTensor = AnyView<void, Rank>;

}  // namespace sharpmax
