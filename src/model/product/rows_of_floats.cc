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
  switch (dots.term->weight.type) {
    case TensorType::f32:
      return DotRows<Floats<float>>(dots);
    case TensorType::f16:
      return DotRows<Floats<hwy::float16_t>>(dots);
    case TensorType::bf16:
      return DotRows<Floats<hwy::bfloat16_t>>(dots);
    default:
      return;  // of another file
  }
}

void UnpackRowsOfFloats(const PanelPart& part) {
  switch (part.weight->type) {
    case TensorType::f32:
      return UnpackRows<Floats<float>>(part);
    case TensorType::f16:
      return UnpackRows<Floats<hwy::float16_t>>(part);
    case TensorType::bf16:
      return UnpackRows<Floats<hwy::bfloat16_t>>(part);
    default:
      return;  // of another file
  }
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
