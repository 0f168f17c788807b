// One block of each quantised type, by the name of the type. `block` is one block, `out` its elements.
#pragma once

#include <cstddef>

namespace sharpmax::model {

void dequantize_q8_0(const std::byte* block, float* out) noexcept;
void dequantize_q4_0(const std::byte* block, float* out) noexcept;
void dequantize_q4_1(const std::byte* block, float* out) noexcept;
void dequantize_q5_0(const std::byte* block, float* out) noexcept;
void dequantize_q5_1(const std::byte* block, float* out) noexcept;
void dequantize_q4_k(const std::byte* block, float* out) noexcept;
void dequantize_q5_k(const std::byte* block, float* out) noexcept;
void dequantize_q6_k(const std::byte* block, float* out) noexcept;

}  // namespace sharpmax::model
