// Any bits are weights: the first byte names the type, the rest are blocks. No fault, and every weight is
// written, the same twice. Types whose scales are float16 cannot give a large finite one.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "model/tensor/stored_tensor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpmax::model;
  if (size == 0) return 0;
  const auto type = static_cast<TensorType>(data[0] % kTensorTypes);
  const TypeLayout& layout = layout_of(type);
  const auto blocks = static_cast<std::int64_t>(size - 1) / layout.bytes;
  // Memory of exactly this size, so that a sanitizer sees a step too far on either side.
  const std::vector<std::uint8_t> exact(data + 1, data + 1 + blocks * layout.bytes);
  std::vector<float> out(static_cast<std::size_t>(blocks * layout.block));
  std::vector<float> again(out.size(), 1.0f);
  const auto* bytes = reinterpret_cast<const std::byte*>(exact.data());
  dequantize(type, bytes, blocks * layout.block, out.data());
  dequantize(type, bytes, blocks * layout.block, again.data());
  if (!out.empty() && std::memcmp(out.data(), again.data(), out.size() * sizeof(float)) != 0) std::abort();
  // The largest scale times the largest whole numbers: 65504 * 127 * 32 and the like, far below 2^40.
  const bool any_size = type == TensorType::f32 || type == TensorType::bf16 || type == TensorType::mxfp4;
  for (const float value : out)
    if (!any_size && std::isfinite(value) && std::fabs(value) > 0x1p40f) std::abort();
  return 0;
}
