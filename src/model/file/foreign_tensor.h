// Tensors that a file holds and that we cannot multiply: types that are not ours, integer buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::model {

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

}  // namespace sharpmax::model
