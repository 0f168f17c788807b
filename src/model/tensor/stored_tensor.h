// A tensor where it lies in a mapped file: checked, never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/tensor/tensor_type.h"

namespace sharpmax::model {

struct StoredTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;  // innermost last, whatever the file's own order; never empty dimensions
  std::span<const std::byte>
      bytes;                 // exactly the elements; aligned only as far as who wrote the file saw to it
  std::uint64_t offset = 0;  // of the first byte in its file, for messages
};

}  // namespace sharpmax::model
