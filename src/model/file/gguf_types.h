// The numbers by which GGUF files name their types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/file/gguf.h"
#include "model/tensor/tensor_type.h"

namespace sharpmax::model {

// Of one value; 0 for strings and arrays, which have no fixed size.
std::uint64_t size_of(GgufType type) noexcept;

struct GgufTensorType {
  std::uint32_t number;
  TypeLayout layout;
  std::optional<TensorType> ours;  // nothing: the format has it, we do not
};

const GgufTensorType* gguf_tensor_type(std::uint32_t number) noexcept;  // null: no such type
// The name of a type that the format once had; empty for any other number.
std::string_view removed_gguf_type(std::uint32_t number) noexcept;

}  // namespace sharpmax::model
