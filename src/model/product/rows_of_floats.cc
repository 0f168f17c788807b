// Rows of F32, F16 and BF16: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_of_floats.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

bool DotRowsOfFloats(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::f32, Floats<float>>, Stored<TensorType::f16, Floats<hwy::float16_t>>,
               Stored<TensorType::bf16, Floats<hwy::bfloat16_t>>>(dots);
}

bool UnpackRowsOfFloats(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::f32, Floats<float>>, Stored<TensorType::f16, Floats<hwy::float16_t>>,
                  Stored<TensorType::bf16, Floats<hwy::bfloat16_t>>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOfFloats);
bool dot_rows_of_floats(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsOfFloats)(dots); }

HWY_EXPORT(UnpackRowsOfFloats);
bool unpack_rows_of_floats(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsOfFloats)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
