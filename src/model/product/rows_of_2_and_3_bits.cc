// Rows of Q2_K and Q3_K: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_of_2_and_3_bits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"
#include "model/product/unpack_k-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

bool DotRowsOf2And3Bits(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::q2_k, Q2_K>, Stored<TensorType::q3_k, Q3_K>>(dots);
}

bool UnpackRowsOf2And3Bits(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::q2_k, Q2_K>, Stored<TensorType::q3_k, Q3_K>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOf2And3Bits);
bool dot_rows_of_2_and_3_bits(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsOf2And3Bits)(dots); }

HWY_EXPORT(UnpackRowsOf2And3Bits);
bool unpack_rows_of_2_and_3_bits(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsOf2And3Bits)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
