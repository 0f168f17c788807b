// Tensors as files store them: their types, where they lie, and their values as floats.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/float16.h"

namespace sharpmax::model {

// The types in which files store weights, and how their blocks lie in memory. A new type is a name here, a line and a
// function in stored_tensor.cc, and a format with its line in product/ (unpack…-inl.h, rows_of_….cc).

enum class TensorType {
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q4_k,
  q5_k,
  q6_k,
  q2_k,
  q3_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
  mxfp4_pairs,  // of safetensors: scales lie apart, and neighbors share a byte
  f8_e4m3,      // of safetensors, where scales lie apart
};
inline constexpr int kTensorTypes = static_cast<int>(TensorType::f8_e4m3) + 1;

// A row is whole blocks: `block` elements in `bytes` bytes.
struct TypeLayout {
  std::string_view name;  // as GGUF prints it: "Q4_K"
  std::int64_t block;
  std::int64_t bytes;
  std::optional<std::uint32_t> gguf = std::nullopt;  // its number in GGUF files
  // Of types whose weights are whole numbers times a scale: how many weights share it (0: of other types), and whether
  // an offset is added to them.
  std::int64_t group = 0;
  bool offset = false;
};

const TypeLayout& layout_of(TensorType type) noexcept;

inline std::string_view name_of(TensorType type) noexcept { return layout_of(type).name; }

// Of `elements`, which must be whole blocks.
inline std::int64_t bytes_of(TensorType type, std::int64_t elements) noexcept {
  const TypeLayout& layout = layout_of(type);
  return elements / layout.block * layout.bytes;
}

// Scales that a file keeps apart from the weights: one for every `rows` x `columns` of a matrix. Of several matrices in
// one tensor the rows are counted through.
struct StoredScales {
  enum class Type { exponent, f32, bf16 };  // exponent: a byte e for 2^(e - 127), 255 is not a number
  const std::byte* data = nullptr;          // null: weights are as they are
  Type type = Type::f32;
  std::int64_t rows = 1, columns = 1;
  std::int64_t stride = 0;     // scales of one row of them
  std::int64_t first_row = 0;  // of the matrix among the tensor's rows
};

// That of weight [row, column] of the matrix; 1 if there are none.
float scale_at(const StoredScales& scales, std::int64_t row, std::int64_t column) noexcept;

// A tensor where it lies in a mapped file: checked, never copied.
struct StoredTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;  // innermost last, whatever the file's own order; never empty dimensions
  std::span<const std::byte>
      bytes;                 // exactly the elements; aligned only as far as the writer of the file aligned them
  std::uint64_t offset = 0;  // of the first byte in its file, for messages
  StoredScales scales = {};
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
  std::string_view type;            // "IQ2_S", "I64"
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

// Values that four bits stand for, if not their own number: IQ4_NL and IQ4_XS, and floats of four bits (times two, so that
// all are whole; the scale is half of a power of two to make up for it).
inline constexpr std::int8_t kUnevenSteps[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr std::int8_t kTwiceFloat4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(exponent - 128): the least two are below the normal numbers.
inline float half_power_of_two(int exponent) noexcept {
  const auto e = static_cast<std::uint32_t>(exponent);
  return std::bit_cast<float>(e < 2 ? std::uint32_t{0x00200000} << e : (e - 1) << 23);
}

// Stored weights to float, one value at a time in the order of the file: the specification that every faster
// product is compared with. Rounded as the reference implementation rounds, so equal to it to the last bit.

// `elements` are whole blocks. Any bits are weights: hostile scales give inf or NaN, never a fault.
void dequantize(TensorType type, const std::byte* blocks, std::int64_t elements, float* out) noexcept;

// out[i] *= the scale of element first + i of a matrix with rows of `columns`.
void apply_scales(const StoredScales& scales, std::int64_t columns, std::int64_t first, std::int64_t count,
                  float* out) noexcept;

}  // namespace sharpmax::model
