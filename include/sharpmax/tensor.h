// Views of memory that belongs to the caller, and Tensor, which owns its memory. A view never owns,
// copies or frees.
//
// Strides count elements, not bytes, and may be zero (broadcast) or, for inputs, negative.
// The library asks of its inputs only that the last dimension be contiguous (stride 1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

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

namespace internal {
// Number of elements of a dense array. Throws Error if a size is negative or the bytes overflow.
std::size_t tensor_elements(std::span<const std::int64_t> shape, std::size_t element_size);
}  // namespace internal

// A dense array that owns its elements, last index fastest. It converts to every kind of view, so it can
// stand wherever a view is expected:
//
//   Tensor<float, 4> query({1, 8, 512, 64});  // zeros
//   query(0, 3, 100, 63) = 1.0f;
//   request.query = query;                    // a view: `query` must outlive it
//
// A value: a copy has elements of its own. A tensor that was moved from is empty, as a default one is.
template <class T, std::size_t Rank>
class Tensor {
  static_assert(Rank > 0 && std::is_trivially_copyable_v<T>, "a Tensor holds plain values");

 public:
  static constexpr std::size_t kAlignment = 64;  // bytes: a cache line, and the widest vector of today's CPUs

  Tensor() = default;
  // Throws Error if a size is negative or the shape has more elements than can be addressed.
  explicit Tensor(const Extents<Rank>& shape, T value = T()) : shape_(shape), data_(allocate(shape)) {
    std::uninitialized_fill_n(data_.get(), size(), value);
  }
  Tensor(const Tensor& other) : shape_(other.shape_), data_(other.data_ ? allocate(other.shape_) : nullptr) {
    std::uninitialized_copy_n(other.data_.get(), size(), data_.get());
  }
  Tensor(Tensor&& other) noexcept
      : shape_(std::exchange(other.shape_, {})), data_(std::move(other.data_)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(shape_, other.shape_);
    std::swap(data_, other.data_);
    return *this;
  }

  const Extents<Rank>& shape() const noexcept { return shape_; }
  std::size_t size() const noexcept {  // number of elements
    std::size_t elements = 1;
    for (const std::int64_t extent : shape_) elements *= static_cast<std::size_t>(extent);
    return elements;
  }
  bool empty() const noexcept { return size() == 0; }

  T* data() noexcept { return data_.get(); }
  const T* data() const noexcept { return data_.get(); }
  // All elements in the order of memory.
  std::span<T> elements() noexcept { return {data(), size()}; }
  std::span<const T> elements() const noexcept { return {data(), size()}; }
  void fill(T value) noexcept { std::fill_n(data(), size(), value); }

  // One index per dimension, not checked.
  template <class... Index>
  T& operator()(Index... index) noexcept {
    return data()[offset_of(index...)];
  }
  template <class... Index>
  const T& operator()(Index... index) const noexcept {
    return data()[offset_of(index...)];
  }

  TensorView<T, Rank> view() noexcept { return {data(), shape_}; }
  TensorView<const T, Rank> view() const noexcept { return {data(), shape_}; }
  operator TensorView<T, Rank>() noexcept { return view(); }
  operator TensorView<const T, Rank>() const noexcept { return view(); }
  operator AnyMutableTensor<Rank>() noexcept { return view(); }
  operator AnyTensor<Rank>() const noexcept { return view(); }

 private:
  struct Free {
    void operator()(T* data) const noexcept { ::operator delete(data, std::align_val_t{kAlignment}); }
  };
  using Storage = std::unique_ptr<T, Free>;

  // Never null, even without elements: a tensor with a shape is present.
  static Storage allocate(const Extents<Rank>& shape) {
    const std::size_t bytes = sizeof(T) * internal::tensor_elements(shape, sizeof(T));
    return Storage(static_cast<T*>(::operator new(bytes, std::align_val_t{kAlignment})));
  }

  template <class... Index>
  std::size_t offset_of(Index... index) const noexcept {
    static_assert(sizeof...(Index) == Rank, "one index per dimension");
    const std::int64_t at[] = {static_cast<std::int64_t>(index)...};
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < Rank; ++i) offset = offset * shape_[i] + at[i];
    return static_cast<std::size_t>(offset);
  }

  Extents<Rank> shape_{};
  Storage data_;
};

}  // namespace sharpmax
