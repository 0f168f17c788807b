#if defined(SHARPMAX_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_EXP_INL_H_
#undef SHARPMAX_EXP_INL_H_
#else
#define SHARPMAX_EXP_INL_H_
#endif
#include "hwy/highway.h"
HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
// exp(x) for x <= 0
template <class V>
HWY_INLINE V ExpTmp(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  x = hn::Max(hn::Set(d, -87.33654f), x);  // NaN second: stays
  const auto magic = hn::Set(d, 12582912.0f);
  const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const auto k = hn::Sub(shifted, magic);
  auto r = hn::NegMulAdd(k, hn::Set(d, 0.693145752f), x);
  r = hn::NegMulAdd(k, hn::Set(d, 1.42860677e-6f), r);
  auto p = hn::Set(d, 1.37805939e-3f);
  p = hn::MulAdd(p, r, hn::Set(d, 8.37312452e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.16695364e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.66664720e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 4.99999851e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f));
  const auto bits = hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted)));
  const auto result = hn::BitCast(d, bits);
  return hn::IfThenElse(hn::Eq(x, hn::Set(d, -87.33654f)), hn::Zero(d), result);
}
}
}
HWY_AFTER_NAMESPACE();
#endif
