// Rows of IQ4_NL, IQ4_XS and MXFP4, whose four bits are looked up in a table: see kernels.h.
#include "model/product/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/product/rows_by_table.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "model/product/rows-inl.h"
#include "model/product/unpack_k-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

bool DotRowsByTable(const RowDots& dots) {
  return DotRowsOfAny<Stored<TensorType::iq4_nl, IQ4_NL>, Stored<TensorType::iq4_xs, IQ4_XS>,
                      Stored<TensorType::mxfp4, MXFP4>>(dots);
}

bool UnpackRowsByTable(const PanelPart& part) {
  return UnpackRowsOfAny<Stored<TensorType::iq4_nl, IQ4_NL>, Stored<TensorType::iq4_xs, IQ4_XS>,
                      Stored<TensorType::mxfp4, MXFP4>>(part);
}

}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(DotRowsByTable);
bool dot_rows_by_table(const RowDots& dots) { return HWY_DYNAMIC_DISPATCH(DotRowsByTable)(dots); }

HWY_EXPORT(UnpackRowsByTable);
bool unpack_rows_by_table(const PanelPart& part) { return HWY_DYNAMIC_DISPATCH(UnpackRowsByTable)(part); }

}  // namespace sharpmax::model
#endif  // HWY_ONCE
