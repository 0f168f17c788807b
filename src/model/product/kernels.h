// The parts of a product that one thread does at a time, for the instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/product/product.h"

namespace sharpmax::model {

// Tokens that share one reading of the weights in registers.
inline constexpr std::int64_t kMostShared = 8;

// out[t][o] for rows [begin, end) of a term and at most kMostShared tokens.
struct RowDots {
  const ProductTerm* term = nullptr;
  std::int64_t begin = 0, end = 0;
  const float* in = nullptr;  // [tokens, inputs]
  std::int64_t in_stride = 0;
  std::int64_t tokens = 0;
};

void dot_rows(const RowDots& dots);  // any type and order

// By groups of types, so that no file takes the compiler long. by_output only.
void dot_rows_of_floats(const RowDots& dots);
void dot_rows_of_4_bits(const RowDots& dots);  // Q4_0, Q4_1, Q8_0
void dot_rows_of_5_bits(const RowDots& dots);  // Q5_0, Q5_1
void dot_rows_of_256(const RowDots& dots);     // Q4_K, Q5_K, Q6_K
void dot_columns(const RowDots& dots);         // by_input

}  // namespace sharpmax::model
