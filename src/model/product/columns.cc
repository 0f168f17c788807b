// Weights that lie [input, output]: see kernels.h. Vectors are of outputs.
#include <algorithm>

#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/columns.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "attention/tiles/pack-inl.h"
#include "model/product/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

// sums[t][c] for 32 outputs from `column` on, of which `count` exist.
template <class Format, std::size_t kTokens>
HWY_INLINE void DotBlockOfColumns(const RowDots& dots, const float* const (&in)[kTokens], std::int64_t column,
                                  std::size_t count, float (&to)[kTokens][32]) {
  constexpr std::size_t kVectors = Format::kVectors, kSize = Format::kBytes / Format::kBlock;
  const FloatTag d;
  const WeightMatrix& weight = dots.term->weight;
  const auto* from = reinterpret_cast<const Byte*>(weight.data) + column * static_cast<std::int64_t>(kSize);
  const std::int64_t stride = weight.outputs * static_cast<std::int64_t>(kSize);
  FloatVec sum[kTokens][kVectors];
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t v = 0; v < kVectors; ++v) sum[t][v] = hn::Zero(d);
  }
  HWY_ALIGN Byte padded[Format::kBytes] = {};
  for (std::int64_t i = 0; i < weight.inputs; ++i, from += stride) {
    const Byte* block = from;
    if (count < 32) {
      std::memcpy(padded, from, count * kSize);
      block = padded;
    }
    FloatVec w[kVectors];
    Format::Unpack(block, {}, 0, w);
    SHARPMAX_UNROLL
    for (std::size_t t = 0; t < kTokens; ++t) {
      const FloatVec x = hn::Set(d, in[t][i]);
      SHARPMAX_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) sum[t][v] = hn::MulAdd(w[v], x, sum[t][v]);
    }
  }
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[t][v], d, to[t] + v * kLanes);
  }
}

template <class Format, std::size_t kTokens>
HWY_INLINE void DotColumnsOf(const RowDots& dots, std::int64_t first_token) {
  const ProductTerm& term = *dots.term;
  const std::int64_t tokens = std::min<std::int64_t>(kTokens, dots.tokens - first_token);
  const float* in[kTokens];
  for (std::size_t t = 0; t < kTokens; ++t) {
    in[t] = dots.in +
            (first_token + std::min<std::int64_t>(static_cast<std::int64_t>(t), tokens - 1)) * dots.in_stride;
  }
  for (std::int64_t column = dots.begin; column < dots.end; column += 32) {
    const std::int64_t count = std::min<std::int64_t>(32, dots.end - column);
    HWY_ALIGN float sums[kTokens][32];
    DotBlockOfColumns<Format, kTokens>(dots, in, column, static_cast<std::size_t>(count), sums);
    for (std::int64_t t = 0; t < tokens; ++t) {
      float* out = term.out + (first_token + t) * term.out_stride + column;
      for (std::int64_t c = 0; c < count; ++c) {
        out[c] = sums[t][c] + (term.bias != nullptr ? term.bias[column + c] : 0.0f);
      }
    }
  }
}

template <class Format>
HWY_INLINE void DotColumnsOf(const RowDots& dots) {
  if (dots.tokens == 1) return DotColumnsOf<Format, 1>(dots, 0);
  for (std::int64_t t = 0; t < dots.tokens; t += 4) DotColumnsOf<Format, 4>(dots, t);
}

void DotColumns(const RowDots& dots) {
  switch (dots.term->weight.type) {
    case TensorType::f32:
      return DotColumnsOf<Floats<float>>(dots);
    case TensorType::f16:
      return DotColumnsOf<Floats<hwy::float16_t>>(dots);
    case TensorType::bf16:
      return DotColumnsOf<Floats<hwy::bfloat16_t>>(dots);
    default:
      return;  // refused by multiply()
  }
}

// Some inputs at a time, for some outputs, turned over into rows.
template <class Format>
HWY_INLINE void UnpackColumnsOf(const PanelPart& part) {
  constexpr std::int64_t kInputs = 32, kOutputs = 128;
  constexpr std::int64_t kSize = Format::kBytes / Format::kBlock;
  const WeightMatrix& weight = *part.weight;
  HWY_ALIGN float lines[kInputs][kOutputs];
  for (std::int64_t column = part.begin; column < part.end; column += kOutputs) {
    const std::int64_t outputs = std::min(kOutputs, part.end - column);
    for (std::int64_t i = 0; i < part.count; i += kInputs) {
      const std::int64_t inputs = std::min(kInputs, part.count - i);
      const float* pointers[kInputs];
      for (std::int64_t k = 0; k < inputs; ++k) {
        const std::int64_t place = ((part.first + i + k) * weight.outputs + column) * kSize;
        UnpackLine<Format>(reinterpret_cast<const Byte*>(weight.data) + place,
                           static_cast<std::size_t>(outputs), lines[k]);
        pointers[k] = lines[k];
      }
      sharpmax::HWY_NAMESPACE::TransposeRows(pointers, static_cast<std::size_t>(inputs),
                                             static_cast<std::size_t>(outputs), kPanelStride,
                                             part.to + (column - part.begin) * kPanelStride + i);
    }
  }
}

void UnpackColumns(const PanelPart& part) {
  switch (part.weight->type) {
    case TensorType::f32:
      return UnpackColumnsOf<Floats<float>>(part);
    case TensorType::f16:
      return UnpackColumnsOf<Floats<hwy::float16_t>>(part);
    case TensorType::bf16:
      return UnpackColumnsOf<Floats<hwy::bfloat16_t>>(part);
    default:
      return;  // refused by multiply()
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotColumns);
void dot_columns(const RowDots& dots) { HWY_DYNAMIC_DISPATCH(DotColumns)(dots); }

HWY_EXPORT(UnpackColumns);
void unpack_columns(const PanelPart& part) { HWY_DYNAMIC_DISPATCH(UnpackColumns)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
