#include "retrieval/training/head_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "retrieval/training/head_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "learning/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::retrieval {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using learning::HWY_NAMESPACE::for_each_vector;
using learning::HWY_NAMESPACE::gelu_with_slope;

template <class Real>
void GeluFeatures(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out, Real* d_out) {
  for_each_vector<Real>(n, [&](auto d, std::size_t j) {
    const auto h = hn::MulAdd(hn::LoadU(d, slope + j), hn::Set(d, x), hn::LoadU(d, offset + j));
    const auto [value, derivative] = gelu_with_slope(d, h);
    hn::StoreU(value, d, out + j);
    hn::StoreU(derivative, d, d_out + j);
  });
}

template <class Real>
void ItemBackwardOf(const ItemBackward<Real>& item, std::size_t n) {
  for_each_vector<Real>(n, [&](auto d, std::size_t j) {
    const auto d_score = hn::Set(d, item.d_score);
    const auto d_feature = hn::MulAdd(d_score, hn::LoadU(d, item.t + j),
                                      hn::Mul(hn::Set(d, item.weight), hn::LoadU(d, item.d_pooled + j)));
    const auto d_argument = hn::Mul(d_feature, hn::LoadU(d, item.slopes + j));
    hn::StoreU(hn::MulAdd(hn::Set(d, item.x), d_argument, hn::LoadU(d, item.d_slope + j)), d,
               item.d_slope + j);
    hn::StoreU(hn::Add(d_argument, hn::LoadU(d, item.d_offset + j)), d, item.d_offset + j);
    hn::StoreU(hn::MulAdd(d_score, hn::LoadU(d, item.features + j), hn::LoadU(d, item.d_t + j)), d,
               item.d_t + j);
  });
}

#define SHARPMAX_FOR_REAL(Real, Suffix)                                                                              \
  void GeluFeatures##Suffix(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out, Real* d_out) {  \
    GeluFeatures(slope, offset, x, n, out, d_out);                                                                   \
  }                                                                                                                  \
  void ItemBackward##Suffix(const ItemBackward<Real>& item, std::size_t n) { ItemBackwardOf(item, n); }
SHARPMAX_FOR_REAL(float, F32)
SHARPMAX_FOR_REAL(double, F64)
#undef SHARPMAX_FOR_REAL

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::retrieval
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::retrieval {

#define SHARPMAX_EXPORT_REAL(Real, Suffix)                                                                           \
  HWY_EXPORT(GeluFeatures##Suffix);                                                                                  \
  HWY_EXPORT(ItemBackward##Suffix);                                                                                  \
  template <>                                                                                                        \
  void gelu_features(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out, Real* d_out) {         \
    HWY_DYNAMIC_DISPATCH(GeluFeatures##Suffix)(slope, offset, x, n, out, d_out);                                     \
  }                                                                                                                  \
  template <>                                                                                                        \
  void item_backward(const ItemBackward<Real>& item, std::size_t n) {                                                \
    HWY_DYNAMIC_DISPATCH(ItemBackward##Suffix)(item, n);                                                             \
  }
SHARPMAX_EXPORT_REAL(float, F32)
SHARPMAX_EXPORT_REAL(double, F64)
#undef SHARPMAX_EXPORT_REAL

}  // namespace sharpmax::retrieval
#endif  // HWY_ONCE
