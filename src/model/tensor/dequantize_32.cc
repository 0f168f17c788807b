// Types of 32 weights a block: weight = scale * whole number (+ minimum).
//
// The first 16 weights lie in the low halves of 16 bytes, the others in the high halves; where a weight has a
// fifth bit, weight i has bit i of a 32-bit word.
#include "model/tensor/dequantize_blocks.h"
#include "model/tensor/stored_bits.h"

namespace sharpmax::model {
namespace {

constexpr int kBlock = 32;

int four_bits(const std::byte* halves, int i) noexcept {
  return i < kBlock / 2 ? low_half(halves + i) : high_half(halves + i - kBlock / 2);
}

int five_bits(const std::byte* fifth_bits, const std::byte* halves, int i) noexcept {
  return four_bits(halves, i) | static_cast<int>(stored<std::uint32_t>(fifth_bits) >> i & 1u) << 4;
}

}  // namespace

void dequantize_q8_0(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block);
  for (int i = 0; i < kBlock; ++i) out[i] = static_cast<float>(stored<std::int8_t>(block + 2 + i)) * scale;
}

void dequantize_q4_0(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block);
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(four_bits(block + 2, i) - 8);
}

void dequantize_q4_1(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block), minimum = stored_float16(block + 2);
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(four_bits(block + 4, i)) + minimum;
}

void dequantize_q5_0(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block);
  for (int i = 0; i < kBlock; ++i)
    out[i] = scale * static_cast<float>(five_bits(block + 2, block + 6, i) - 16);
}

void dequantize_q5_1(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block), minimum = stored_float16(block + 2);
  for (int i = 0; i < kBlock; ++i)
    out[i] = scale * static_cast<float>(five_bits(block + 4, block + 8, i)) + minimum;
}

}  // namespace sharpmax::model
