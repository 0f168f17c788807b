// Products of matrices in single precision, in register tiles of every instruction set. Each element is a sum over the inner
// dimension in an order that depends on nothing but its length: neither on the cut of the rows, nor on the width of vectors.
#pragma once

#include <cstddef>

namespace sharpmax::learning {

// Row-major memory: element (i, j) lies at i * row + j * column, one of which is 1.
struct Operand {
  const float* data = nullptr;
  std::size_t row = 0, column = 0;
};

// Floats that the right operand of a product takes when it is packed.
std::size_t packed_size(std::size_t inner, std::size_t columns);
// Panels that packing is cut into; pack_panels() packs some of them.
std::size_t panels_of(std::size_t columns);
void pack_panels(const Operand& right, std::size_t inner, std::size_t columns, std::size_t first, std::size_t end, float* packed);

// c = left right, or c += left right. c has `rows` rows of `columns`, `stride` apart.
struct ProductRows {
  Operand left;
  std::size_t rows = 0, inner = 0, columns = 0;
  const float* packed = nullptr;  // the right operand
  bool adds = false;              // to what c holds
  float* c = nullptr;
  std::size_t stride = 0;
};
void multiply_rows(const ProductRows& product);

}  // namespace sharpmax::learning
