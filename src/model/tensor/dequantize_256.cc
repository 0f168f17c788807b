// The "K" types of 256 weights a block, in groups with a whole-number scale (and minimum) of their own.
#include "model/tensor/dequantize_blocks.h"
#include "model/tensor/stored_bits.h"

namespace sharpmax::model {
namespace {

constexpr int kGroup = 32;  // weights of Q4_K and Q5_K that share a scale and a minimum

struct GroupScale {
  int scale = 0;  // 6 bits each
  int minimum = 0;
};

// Eight scales and eight minima of 6 bits in 12 bytes. The first four of each have the low 6 bits of bytes
// 0-3 and 4-7; of the last four, bytes 8-11 hold the low 4 bits (scale low, minimum high) and the two bits
// that were left over in bytes 0-7 are the high ones.
GroupScale group_scale(const std::byte* packed, int group) noexcept {
  if (group < 4) return {byte_at(packed + group) & 0x3f, byte_at(packed + group + 4) & 0x3f};
  const std::byte* low = packed + group + 4;
  return {low_half(low) | (byte_at(packed + group - 4) >> 6) << 4,
          high_half(low) | (byte_at(packed + group) >> 6) << 4};
}

// Two groups share 32 bytes: the even group has the low halves.
int four_bits(const std::byte* halves, int group, int i) noexcept {
  const std::byte* at = halves + group / 2 * kGroup + i;
  return group % 2 == 0 ? low_half(at) : high_half(at);
}

}  // namespace

void dequantize_q4_k(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block), minimum = stored_float16(block + 2);
  for (int group = 0; group < 8; ++group) {
    const GroupScale own = group_scale(block + 4, group);
    const float d = scale * static_cast<float>(own.scale), m = minimum * static_cast<float>(own.minimum);
    for (int i = 0; i < kGroup; ++i) *out++ = d * static_cast<float>(four_bits(block + 16, group, i)) - m;
  }
}

// As Q4_K; 32 bytes in between hold the fifth bits: bit g of byte i is that of weight i of group g.
void dequantize_q5_k(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block), minimum = stored_float16(block + 2);
  for (int group = 0; group < 8; ++group) {
    const GroupScale own = group_scale(block + 4, group);
    const float d = scale * static_cast<float>(own.scale), m = minimum * static_cast<float>(own.minimum);
    for (int i = 0; i < kGroup; ++i) {
      const int fifth = byte_at(block + 16 + i) >> group & 1;
      *out++ = d * static_cast<float>(four_bits(block + 48, group, i) | fifth << 4) - m;
    }
  }
}

// Halves of 128 weights, each four rows of 32: rows 0 and 1 have the low halves of 64 bytes, rows 2 and 3 the
// high halves; row r has bits 2r and 2r + 1 of 32 more bytes on top. 16 weights share a scale of 8 bits.
void dequantize_q6_k(const std::byte* block, float* out) noexcept {
  const std::byte* low = block;
  const std::byte* high = block + 128;
  const std::byte* scales = block + 192;
  const float scale = stored_float16(block + 208);
  for (int half = 0; half < 2; ++half, low += 64, high += 32) {
    for (int i = 0; i < 128; ++i) {
      const int row = i / 32;
      const std::byte* at = low + i % 64;
      const int bits = (row < 2 ? low_half(at) : high_half(at)) | (byte_at(high + i % 32) >> 2 * row & 3)
                                                                      << 4;
      const float d = scale * static_cast<float>(stored<std::int8_t>(scales + (128 * half + i) / 16));
      *out++ = d * static_cast<float>(bits - 32);
    }
  }
}

}  // namespace sharpmax::model
