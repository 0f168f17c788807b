// Tensors as files store them: their types, where they lie, and their values as floats.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/float16.h"

namespace sharpmax::model {

// The types in which files store weights, and how their blocks lie in memory.

enum class TensorType { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k };

// A row is whole blocks: `block` elements in `bytes` bytes.
struct TypeLayout {
  std::string_view name;  // as GGUF prints it: "Q4_K"
  std::int64_t block;
  std::int64_t bytes;
};

const TypeLayout& layout_of(TensorType type) noexcept;

inline std::string_view name_of(TensorType type) noexcept { return layout_of(type).name; }

// Of `elements`, which must be whole blocks.
inline std::int64_t bytes_of(TensorType type, std::int64_t elements) noexcept {
  const TypeLayout& layout = layout_of(type);
  return elements / layout.block * layout.bytes;
}

// A tensor where it lies in a mapped file: checked, never copied.
struct StoredTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;  // innermost last, whatever the file's own order; never empty dimensions
  std::span<const std::byte>
      bytes;                 // exactly the elements; aligned only as far as who wrote the file saw to it
  std::uint64_t offset = 0;  // of the first byte in its file, for messages
};

// Tensors that a file holds and that we cannot multiply: types that are not ours, integer buffers.

// To run a model, every weight must be of a type that we know; to look at a file, none must.
enum class ForeignTypes {
  refuse,  // Error{unsupported}
  keep,    // among foreign_tensors()
};

// Checked like any other, but never read.
struct ForeignTensor {
  std::string name;
  std::string_view type;            // "Q3_K", "I64"
  std::vector<std::int64_t> shape;  // innermost last
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // in its file
};

// Numbers out of stored bytes: little-endian, at any alignment.

static_assert(std::endian::native == std::endian::little, "stored weights are little-endian; so are we");

template <typename T>
T stored(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline float stored_float16(const std::byte* at) noexcept {
  return to_float(float16{stored<std::uint16_t>(at)});
}

// A byte, half a byte: as int, so that what follows is plain arithmetic.
inline int byte_at(const std::byte* at) noexcept { return std::to_integer<int>(*at); }
inline int low_half(const std::byte* at) noexcept { return byte_at(at) & 0x0f; }
inline int high_half(const std::byte* at) noexcept { return byte_at(at) >> 4; }

// Stored weights to float, one value at a time in the order of the file: the specification that every faster
// product is compared with. Rounded as the reference implementation rounds, so equal to it to the last bit.

// `elements` are whole blocks. Any bits are weights: hostile scales give inf or NaN, never a fault.
void dequantize(TensorType type, const std::byte* blocks, std::int64_t elements, float* out) noexcept;

}  // namespace sharpmax::model
