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

void DotRowsOfFloats(const RowDots& dots) {
  DotRowsOfAny<Stored<TensorType::f32, Floats<float>>, Stored<TensorType::f16, Floats<hwy::float16_t>>,
               Stored<TensorType::bf16, Floats<hwy::bfloat16_t>>>(dots);
}

void UnpackRowsOfFloats(const PanelPart& part) {
  UnpackRowsOfAny<Stored<TensorType::f32, Floats<float>>, Stored<TensorType::f16, Floats<hwy::float16_t>>,
                  Stored<TensorType::bf16, Floats<hwy::bfloat16_t>>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOfFloats);
void dot_rows_of_floats(const RowDots& dots) { HWY_DYNAMIC_DISPATCH(DotRowsOfFloats)(dots); }

HWY_EXPORT(UnpackRowsOfFloats);
void unpack_rows_of_floats(const PanelPart& part) { HWY_DYNAMIC_DISPATCH(UnpackRowsOfFloats)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
