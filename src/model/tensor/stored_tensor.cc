#include "model/tensor/stored_tensor.h"

#include <cstring>

namespace sharpmax::model {

const TypeLayout& layout_of(TensorType type) noexcept {
  // In the order of TensorType. Bytes: scales (and minima) as float16, high bits, then low bits.
  static constexpr TypeLayout kLayouts[] = {
      {"F32", 1, 4},
      {"F16", 1, 2},
      {"BF16", 1, 2},
      {"Q8_0", 32, 2 + 32},
      {"Q4_0", 32, 2 + 16},
      {"Q4_1", 32, 4 + 16},
      {"Q5_0", 32, 2 + 4 + 16},
      {"Q5_1", 32, 4 + 4 + 16},
      {"Q4_K", 256, 4 + 12 + 128},
      {"Q5_K", 256, 4 + 12 + 32 + 128},
      {"Q6_K", 256, 128 + 64 + 16 + 2},
  };
  return kLayouts[static_cast<std::size_t>(type)];
}

// Types of 32 weights a block: weight = scale * whole number (+ minimum).
//
// The first 16 weights lie in the low halves of 16 bytes, the others in the high halves; where a weight has a
// fifth bit, weight i has bit i of a 32-bit word.

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

// The "K" types of 256 weights a block, in groups with a whole-number scale (and minimum) of their own.

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

namespace {

using BlockFunction = void (*)(const std::byte* block, float* out) noexcept;

void dequantize_f16(const std::byte* block, float* out) noexcept { *out = stored_float16(block); }
void dequantize_bf16(const std::byte* block, float* out) noexcept {
  *out = to_float(bfloat16{stored<std::uint16_t>(block)});
}
// Copied as bits: through a float register a signalling NaN might come out quiet.
void dequantize_f32(const std::byte* block, float* out) noexcept { std::memcpy(out, block, sizeof(float)); }

BlockFunction block_function(TensorType type) noexcept {
  switch (type) {
    case TensorType::f32:
      return dequantize_f32;
    case TensorType::f16:
      return dequantize_f16;
    case TensorType::bf16:
      return dequantize_bf16;
    case TensorType::q8_0:
      return dequantize_q8_0;
    case TensorType::q4_0:
      return dequantize_q4_0;
    case TensorType::q4_1:
      return dequantize_q4_1;
    case TensorType::q5_0:
      return dequantize_q5_0;
    case TensorType::q5_1:
      return dequantize_q5_1;
    case TensorType::q4_k:
      return dequantize_q4_k;
    case TensorType::q5_k:
      return dequantize_q5_k;
    case TensorType::q6_k:
      return dequantize_q6_k;
  }
  return dequantize_f32;  // no other value exists
}

}  // namespace

void dequantize(TensorType type, const std::byte* blocks, std::int64_t elements, float* out) noexcept {
  if (type == TensorType::f32) {
    if (elements > 0) std::memcpy(out, blocks, static_cast<std::size_t>(elements) * sizeof(float));
    return;
  }
  const TypeLayout& layout = layout_of(type);
  const BlockFunction block = block_function(type);
  for (std::int64_t at = 0; at < elements; at += layout.block, blocks += layout.bytes)
    block(blocks, out + at);
}

}  // namespace sharpmax::model
