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

bool DotRowsOf256(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::q4_k, Q4_K>, Stored<TensorType::q5_k, Q5_K>,
               Stored<TensorType::q6_k, Q6_K>>(dots);
}

bool UnpackRowsOf256(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::q4_k, Q4_K>, Stored<TensorType::q5_k, Q5_K>,
                  Stored<TensorType::q6_k, Q6_K>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOf256);
bool dot_rows_of_256(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsOf256)(dots); }

HWY_EXPORT(UnpackRowsOf256);
bool unpack_rows_of_256(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsOf256)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
