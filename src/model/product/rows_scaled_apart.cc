// Rows of MXFP4_PAIRS and F8_E4M3, whose scales lie apart: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_scaled_apart.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

bool DotRowsScaledApart(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::mxfp4_pairs, MXFP4Pairs>, Stored<TensorType::f8_e4m3, F8E4M3>>(dots);
}

bool UnpackRowsScaledApart(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::mxfp4_pairs, MXFP4Pairs>, Stored<TensorType::f8_e4m3, F8E4M3>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsScaledApart);
bool dot_rows_scaled_apart(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsScaledApart)(dots); }

HWY_EXPORT(UnpackRowsScaledApart);
bool unpack_rows_scaled_apart(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsScaledApart)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
