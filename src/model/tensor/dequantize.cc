#include "model/tensor/dequantize.h"

#include <cstring>

#include "model/tensor/dequantize_blocks.h"
#include "model/tensor/stored_bits.h"

namespace sharpmax::model {
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
