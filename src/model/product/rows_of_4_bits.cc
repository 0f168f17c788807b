// Rows of Q4_0, Q4_1 and Q8_0: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_of_4_bits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

bool DotRowsOf4Bits(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::q4_0, Q4_0>, Stored<TensorType::q4_1, Q4_1>,
               Stored<TensorType::q8_0, Q8_0>>(dots);
}

bool UnpackRowsOf4Bits(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::q4_0, Q4_0>, Stored<TensorType::q4_1, Q4_1>,
                  Stored<TensorType::q8_0, Q8_0>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsOf4Bits);
bool dot_rows_of_4_bits(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsOf4Bits)(dots); }

HWY_EXPORT(UnpackRowsOf4Bits);
bool unpack_rows_of_4_bits(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsOf4Bits)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
