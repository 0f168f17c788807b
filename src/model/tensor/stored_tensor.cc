#include "model/tensor/stored_tensor.h"

#include <cstring>
#include <iterator>
#include <limits>

namespace sharpmax::model {

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

// Q2_K and Q3_K: halves of 128 weights, each four rows of 32 in the same 32 bytes; row r has bits 2r and 2r + 1. 16
// weights share a scale.
void dequantize_q2_k(const std::byte* block, float* out) noexcept {
  const std::byte* scales = block;  // low half the scale, high half the minimum
  const float scale = stored_float16(block + 80), minimum = stored_float16(block + 82);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, row = i % 128 / 32;
    const int bits = byte_at(block + 16 + 32 * half + i % 32) >> 2 * row & 3;
    const float d = scale * static_cast<float>(low_half(scales + i / 16));
    const float m = minimum * static_cast<float>(high_half(scales + i / 16));
    *out++ = d * static_cast<float>(bits) - m;
  }
}

// A third bit for each weight in 32 bytes: bit 4 half + row. Scales have six bits less 32: the low four of scales 0-7 and
// 8-15 in the two halves of eight bytes, the high two of scales i, i + 4, i + 8 and i + 12 in byte i of four more.
void dequantize_q3_k(const std::byte* block, float* out) noexcept {
  const std::byte* packed = block + 96;
  const float scale = stored_float16(block + 108);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, row = i % 128 / 32, group = i / 16;
    const int low = group < 8 ? low_half(packed + group) : high_half(packed + group - 8);
    const int high = byte_at(packed + 8 + group % 4) >> 2 * (group / 4) & 3;
    const float d = scale * static_cast<float>((low | high << 4) - 32);
    const int two = byte_at(block + 32 + 32 * half + i % 32) >> 2 * row & 3;
    const int third = byte_at(block + i % 32) >> (4 * half + row) & 1;
    *out++ = d * static_cast<float>((two | third << 2) - 4);
  }
}

// Types whose four bits are an index into a table.

void dequantize_iq4_nl(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block);
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(kUnevenSteps[four_bits(block + 2, i)]);
}

// Eight groups of 32 with scales of six bits less 32: the low four in halves of bytes, the high two in one word.
void dequantize_iq4_xs(const std::byte* block, float* out) noexcept {
  const float scale = stored_float16(block);
  const int high = stored<std::uint16_t>(block + 2);
  for (int group = 0; group < 8; ++group) {
    const int low = byte_at(block + 4 + group / 2) >> 4 * (group % 2) & 15;
    const float d = scale * static_cast<float>((low | (high >> 2 * group & 3) << 4) - 32);
    for (int i = 0; i < kBlock; ++i)
      *out++ = d * static_cast<float>(kUnevenSteps[four_bits(block + 8 + 16 * group, i)]);
  }
}

void dequantize_mxfp4(const std::byte* block, float* out) noexcept {
  const float scale = half_power_of_two(byte_at(block));
  for (int i = 0; i < kBlock; ++i) out[i] = scale * static_cast<float>(kTwiceFloat4[four_bits(block + 1, i)]);
}

// The value alone: 2^(e - 127) lies apart.
void dequantize_mxfp4_pairs(const std::byte* block, float* out) noexcept {
  for (int i = 0; i < kBlock; ++i) {
    const std::byte* at = block + i / 2;
    out[i] = 0.5f * static_cast<float>(kTwiceFloat4[i % 2 == 0 ? low_half(at) : high_half(at)]);
  }
}

// One sign, four bits of an exponent less 7, three of a mantissa; no infinity, and all ones are not a number. The bits
// of a float with the same digits are 2^120 too small.
void dequantize_f8_e4m3(const std::byte* block, float* out) noexcept {
  const auto bits = static_cast<std::uint32_t>(byte_at(block));
  const std::uint32_t magnitude = bits & 0x7f, sign = (bits & 0x80) << 24;
  const float value = magnitude == 0x7f ? std::numeric_limits<float>::quiet_NaN()
                                        : std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  *out = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

namespace {

void dequantize_f16(const std::byte* block, float* out) noexcept { *out = stored_float16(block); }
void dequantize_bf16(const std::byte* block, float* out) noexcept {
  *out = to_float(bfloat16{stored<std::uint16_t>(block)});
}
// Copied as bits: through a float register a signalling NaN might come out quiet.
void dequantize_f32(const std::byte* block, float* out) noexcept { std::memcpy(out, block, sizeof(float)); }

struct TypeEntry {
  TensorType type;
  TypeLayout layout;
  void (*dequantize)(const std::byte* block, float* out) noexcept;
};

// In the order of TensorType. Bytes: scales (and minima) as float16, high bits, then low bits, in most of them.
constexpr TypeEntry kTypes[] = {
    {TensorType::f32, {"F32", 1, 4, 0}, dequantize_f32},
    {TensorType::f16, {"F16", 1, 2, 1}, dequantize_f16},
    {TensorType::bf16, {"BF16", 1, 2, 30}, dequantize_bf16},
    {TensorType::q8_0, {"Q8_0", 32, 2 + 32, 8, 32}, dequantize_q8_0},
    {TensorType::q4_0, {"Q4_0", 32, 2 + 16, 2, 32}, dequantize_q4_0},
    {TensorType::q4_1, {"Q4_1", 32, 4 + 16, 3, 32, true}, dequantize_q4_1},
    {TensorType::q5_0, {"Q5_0", 32, 2 + 4 + 16, 6, 32}, dequantize_q5_0},
    {TensorType::q5_1, {"Q5_1", 32, 4 + 4 + 16, 7, 32, true}, dequantize_q5_1},
    {TensorType::q4_k, {"Q4_K", 256, 4 + 12 + 128, 12, 32, true}, dequantize_q4_k},
    {TensorType::q5_k, {"Q5_K", 256, 4 + 12 + 32 + 128, 13, 32, true}, dequantize_q5_k},
    {TensorType::q6_k, {"Q6_K", 256, 128 + 64 + 16 + 2, 14, 16}, dequantize_q6_k},
    {TensorType::q2_k, {"Q2_K", 256, 16 + 64 + 4, 10, 16, true}, dequantize_q2_k},
    {TensorType::q3_k, {"Q3_K", 256, 32 + 64 + 12 + 2, 11, 16}, dequantize_q3_k},
    {TensorType::iq4_nl, {"IQ4_NL", 32, 2 + 16, 20, 32}, dequantize_iq4_nl},
    {TensorType::iq4_xs, {"IQ4_XS", 256, 2 + 2 + 4 + 128, 23, 32}, dequantize_iq4_xs},
    {TensorType::mxfp4, {"MXFP4", 32, 1 + 16, 39, 32}, dequantize_mxfp4},
    {TensorType::mxfp4_pairs, {"MXFP4_PAIRS", 32, 16, std::nullopt, 32}, dequantize_mxfp4_pairs},
    {TensorType::f8_e4m3, {"F8_E4M3", 1, 1}, dequantize_f8_e4m3},
};

consteval bool in_order() {
  for (int i = 0; i < kTensorTypes; ++i)
    if (kTypes[i].type != static_cast<TensorType>(i)) return false;
  return std::size(kTypes) == kTensorTypes;
}
static_assert(in_order());

const TypeEntry& entry_of(TensorType type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }

}  // namespace

const TypeLayout& layout_of(TensorType type) noexcept { return entry_of(type).layout; }

void dequantize(TensorType type, const std::byte* blocks, std::int64_t elements, float* out) noexcept {
  if (type == TensorType::f32) {
    if (elements > 0) std::memcpy(out, blocks, static_cast<std::size_t>(elements) * sizeof(float));
    return;
  }
  const TypeEntry& entry = entry_of(type);
  for (std::int64_t at = 0; at < elements; at += entry.layout.block, blocks += entry.layout.bytes)
    entry.dequantize(blocks, out + at);
}

float scale_at(const StoredScales& scales, std::int64_t row, std::int64_t column) noexcept {
  if (scales.data == nullptr) return 1;
  const std::int64_t at = (scales.first_row + row) / scales.rows * scales.stride + column / scales.columns;
  switch (scales.type) {
    case StoredScales::Type::exponent: {
      const int e = byte_at(scales.data + at);
      return e == 255 ? std::numeric_limits<float>::quiet_NaN() : 2 * half_power_of_two(e);
    }
    case StoredScales::Type::bf16:
      return to_float(bfloat16{stored<std::uint16_t>(scales.data + 2 * at)});
    case StoredScales::Type::f32:
      break;
  }
  return stored<float>(scales.data + 4 * at);
}

void apply_scales(const StoredScales& scales, std::int64_t columns, std::int64_t first, std::int64_t count,
                  float* out) noexcept {
  if (scales.data == nullptr) return;
  for (std::int64_t i = 0; i < count; ++i) out[i] *= scale_at(scales, (first + i) / columns, (first + i) % columns);
}

}  // namespace sharpmax::model
