// Rows of Q5_0 and Q5_1: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_of_5_bits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

bool DotRowsOf5Bits(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::q5_0, Q5_0>, Stored<TensorType::q5_1, Q5_1>>(dots);
}

bool UnpackRowsOf5Bits(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::q5_0, Q5_0>, Stored<TensorType::q5_1, Q5_1>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOf5Bits);
bool dot_rows_of_5_bits(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsOf5Bits)(dots); }

HWY_EXPORT(UnpackRowsOf5Bits);
bool unpack_rows_of_5_bits(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsOf5Bits)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
