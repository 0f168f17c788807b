// The types in which files store weights, and how their blocks lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sharpmax::model {

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

}  // namespace sharpmax::model
