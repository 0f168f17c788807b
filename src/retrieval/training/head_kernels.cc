#include "retrieval/training/head_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "retrieval/training/head_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "retrieval/head/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::retrieval {
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
void GeluInPlace(Real* values, std::size_t n, Real* d_out) {
  for_each_vector<Real>(n, [&](auto d, std::size_t j) {
    const auto [value, derivative] = gelu_with_slope(d, hn::LoadU(d, values + j));
    hn::StoreU(value, d, values + j);
    hn::StoreU(derivative, d, d_out + j);
  });
}

template <class Real>
Real Dot(const Real* a, const Real* b, std::size_t n) {
  const hn::ScalableTag<Real> d;
  const std::size_t lanes = hn::Lanes(d);
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  std::size_t j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    even = hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), even);
    odd = hn::MulAdd(hn::LoadU(d, a + j + lanes), hn::LoadU(d, b + j + lanes), odd);
  }
  Real sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; j < n; ++j) sum += a[j] * b[j];
  return sum;
}

template <class Real>
void AddScaled(Real a, const Real* x, std::size_t n, Real* y) {
  for_each_vector<Real>(n, [&](auto d, std::size_t j) {
    hn::StoreU(hn::MulAdd(hn::Set(d, a), hn::LoadU(d, x + j), hn::LoadU(d, y + j)), d, y + j);
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

// In blocks, so that a sum over a hundred thousand floats keeps its digits.
template <class Real>
double SumOfSquares(const Real* values, std::size_t n) {
  constexpr std::size_t kBlock = 1024;
  double sum = 0.0;
  for (std::size_t j = 0; j < n; j += kBlock) {
    const std::size_t size = n - j < kBlock ? n - j : kBlock;
    sum += static_cast<double>(Dot(values + j, values + j, size));
  }
  return sum;
}

template <class Real>
void Adam(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first,
          Real* second) {
  const auto real = [](double x) { return static_cast<Real>(x); };
  for_each_vector<Real>(n, [&](auto d, std::size_t j) {
    const auto g = hn::Mul(hn::Set(d, real(step.gradient_scale)), hn::LoadU(d, gradient + j));
    const auto m = hn::MulAdd(hn::Set(d, real(step.beta1)), hn::LoadU(d, first + j),
                              hn::Mul(hn::Set(d, real(1.0 - step.beta1)), g));
    const auto v = hn::MulAdd(hn::Set(d, real(step.beta2)), hn::LoadU(d, second + j),
                              hn::Mul(hn::Set(d, real(1.0 - step.beta2)), hn::Mul(g, g)));
    hn::StoreU(m, d, first + j);
    hn::StoreU(v, d, second + j);
    const auto size =
        hn::Add(hn::Sqrt(hn::Mul(v, hn::Set(d, real(step.correction2)))), hn::Set(d, real(step.epsilon)));
    const auto value = hn::LoadU(d, values + j);
    const auto change = hn::MulAdd(hn::Set(d, real(step.weight_decay)), value,
                                   hn::Div(hn::Mul(m, hn::Set(d, real(step.correction1))), size));
    hn::StoreU(hn::NegMulAdd(hn::Set(d, real(step.learning_rate)), change, value), d, values + j);
  });
}

#define SHARPMAX_FOR_REAL(Real, Suffix)                                                                   \
  void GeluFeatures##Suffix(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out,      \
                            Real* d_out) {                                                                \
    GeluFeatures(slope, offset, x, n, out, d_out);                                                        \
  }                                                                                                       \
  void GeluInPlace##Suffix(Real* values, std::size_t n, Real* d_out) { GeluInPlace(values, n, d_out); }   \
  Real Dot##Suffix(const Real* a, const Real* b, std::size_t n) { return Dot(a, b, n); }                  \
  void AddScaled##Suffix(Real a, const Real* x, std::size_t n, Real* y) { AddScaled(a, x, n, y); }        \
  void ItemBackward##Suffix(const ItemBackward<Real>& item, std::size_t n) { ItemBackwardOf(item, n); }   \
  double SumOfSquares##Suffix(const Real* values, std::size_t n) { return SumOfSquares(values, n); }      \
  void Adam##Suffix(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first, \
                    Real* second) {                                                                       \
    Adam(step, gradient, n, values, first, second);                                                       \
  }
SHARPMAX_FOR_REAL(float, F32)
SHARPMAX_FOR_REAL(double, F64)
#undef SHARPMAX_FOR_REAL

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::retrieval
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::retrieval {

#define SHARPMAX_EXPORT_REAL(Real, Suffix)                                                                   \
  HWY_EXPORT(GeluFeatures##Suffix);                                                                          \
  HWY_EXPORT(GeluInPlace##Suffix);                                                                           \
  HWY_EXPORT(Dot##Suffix);                                                                                   \
  HWY_EXPORT(AddScaled##Suffix);                                                                             \
  HWY_EXPORT(ItemBackward##Suffix);                                                                          \
  HWY_EXPORT(SumOfSquares##Suffix);                                                                          \
  HWY_EXPORT(Adam##Suffix);                                                                                  \
  template <>                                                                                                \
  void gelu_features(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out, Real* d_out) { \
    HWY_DYNAMIC_DISPATCH(GeluFeatures##Suffix)(slope, offset, x, n, out, d_out);                             \
  }                                                                                                          \
  template <>                                                                                                \
  void gelu_in_place(Real* values, std::size_t n, Real* d_out) {                                             \
    HWY_DYNAMIC_DISPATCH(GeluInPlace##Suffix)(values, n, d_out);                                             \
  }                                                                                                          \
  template <>                                                                                                \
  Real dot(const Real* a, const Real* b, std::size_t n) {                                                    \
    return HWY_DYNAMIC_DISPATCH(Dot##Suffix)(a, b, n);                                                       \
  }                                                                                                          \
  template <>                                                                                                \
  void add_scaled(Real a, const Real* x, std::size_t n, Real* y) {                                           \
    HWY_DYNAMIC_DISPATCH(AddScaled##Suffix)(a, x, n, y);                                                     \
  }                                                                                                          \
  template <>                                                                                                \
  void item_backward(const ItemBackward<Real>& item, std::size_t n) {                                        \
    HWY_DYNAMIC_DISPATCH(ItemBackward##Suffix)(item, n);                                                     \
  }                                                                                                          \
  template <>                                                                                                \
  double sum_of_squares(const Real* values, std::size_t n) {                                                 \
    return HWY_DYNAMIC_DISPATCH(SumOfSquares##Suffix)(values, n);                                            \
  }                                                                                                          \
  template <>                                                                                                \
  void adam(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first,            \
            Real* second) {                                                                                  \
    HWY_DYNAMIC_DISPATCH(Adam##Suffix)(step, gradient, n, values, first, second);                            \
  }
SHARPMAX_EXPORT_REAL(float, F32)
SHARPMAX_EXPORT_REAL(double, F64)
#undef SHARPMAX_EXPORT_REAL

}  // namespace sharpmax::retrieval
#endif  // HWY_ONCE
