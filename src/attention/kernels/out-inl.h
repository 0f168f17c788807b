// The last step of every plan: a folded row becomes a row of the output.
#if defined(SHARPMAX_OUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_OUT_INL_H_
#undef SHARPMAX_OUT_INL_H_
#else
#define SHARPMAX_OUT_INL_H_
#endif

#include "attention/kernels/block.h"
#include "attention/kernels/tile-inl.h"
#include "base/float16.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Writes a finished row: scale * folded, in the type of out.
HWY_INLINE void WriteOut(const AnyMutableTensor<4>& out, std::int64_t batch, const BlockRow& row, float scale,
                         const float* folded) {
  const auto features = static_cast<std::size_t>(out.shape[3]);
  const std::int64_t offset =
      batch * out.strides[0] + row.head * out.strides[1] + row.query * out.strides[2];
  if (out.dtype == DType::float32) {
    float* to = static_cast<float*>(out.data) + offset;
    // An empty row is 0 even where values are not finite.
    for (std::size_t i = 0; i < features; ++i) to[i] = scale == 0.0f ? 0.0f : scale * folded[i];
    return;
  }
  auto* to = static_cast<std::uint16_t*>(out.data) + offset;
  for (std::size_t i = 0; i < features; ++i) {
    const float value = scale == 0.0f ? 0.0f : scale * folded[i];
    to[i] = out.dtype == DType::bfloat16 ? to_bfloat16(value).bits : to_float16(value).bits;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();

#endif  // SHARPMAX_OUT_INL_H_
