// Rows of Q4_K, Q5_K and Q6_K: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_of_256.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"
#include "model/product/unpack_k-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

void DotRowsOf256(const RowDots& dots) {
  switch (dots.term->weight.type) {
    case TensorType::q4_k:
      return DotRows<Q4_K>(dots);
    case TensorType::q5_k:
      return DotRows<Q5_K>(dots);
    case TensorType::q6_k:
      return DotRows<Q6_K>(dots);
    default:
      return;  // of another file
  }
}

void UnpackRowsOf256(const PanelPart& part) {
  switch (part.weight->type) {
    case TensorType::q4_k:
      return UnpackRows<Q4_K>(part);
    case TensorType::q5_k:
      return UnpackRows<Q5_K>(part);
    case TensorType::q6_k:
      return UnpackRows<Q6_K>(part);
    default:
      return;  // of another file
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOf256);
void dot_rows_of_256(const RowDots& dots) { HWY_DYNAMIC_DISPATCH(DotRowsOf256)(dots); }

HWY_EXPORT(UnpackRowsOf256);
void unpack_rows_of_256(const PanelPart& part) { HWY_DYNAMIC_DISPATCH(UnpackRowsOf256)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
