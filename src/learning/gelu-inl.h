// GELU in its tanh form and its derivative, for vectors of float or double; and a loop over vectors.
//
//   GELU(x) = x s, s = 1 / (1 + exp(-u)), u = 2 sqrt(2 / pi) (x + 0.044715 x^3)
#if defined(SHARPMAX_LEARNING_GELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_LEARNING_GELU_INL_H_
#undef SHARPMAX_LEARNING_GELU_INL_H_
#else
#define SHARPMAX_LEARNING_GELU_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "learning/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::learning {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// body(vector index) for whole vectors, then the rest one by one with a tag of one lane.
template <class Real, class Body>
HWY_INLINE void for_each_vector(std::size_t n, const Body& body) {
  const hn::ScalableTag<Real> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) body(d, j);
  for (; j < n; ++j) body(hn::CappedTag<Real, 1>(), j);
}

// Beyond this exp(-u) is infinite in the type and s is 0 at any rate.
template <class Real>
inline constexpr double kGeluLeast = sizeof(Real) == 4 ? -87.0 : -708.0;

template <class V>
struct GeluWithSlope {
  V value;
  V slope;
};

template <class D, class V>
HWY_INLINE GeluWithSlope<V> gelu_with_slope(D d, V x) {
  using Real = hn::TFromD<D>;
  const auto constant = [d](double c) { return hn::Set(d, static_cast<Real>(c)); };
  const V one = constant(1.0);
  const V square = hn::Mul(x, x);
  const V u = hn::Mul(hn::Mul(x, constant(kGeluRate)), hn::MulAdd(square, constant(kGeluCubic), one));
  const V e = hn::Exp(d, hn::Neg(hn::Max(u, constant(kGeluLeast<Real>))));
  const V sigma = hn::Div(one, hn::Add(one, e));
  const V value = hn::Mul(x, sigma);
  const V d_u = hn::MulAdd(square, constant(3.0 * kGeluCubic * kGeluRate), constant(kGeluRate));
  // sigma + x sigma (1 - sigma) u'
  return {value, hn::MulAdd(hn::Mul(value, hn::Sub(one, sigma)), d_u, sigma)};
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::learning
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
