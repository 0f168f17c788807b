#include "learning/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learning/kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "learning/gelu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::learning {
namespace HWY_NAMESPACE {

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

// gradient_at(d, j): the gradient of the values from j on.
template <class Real, class GradientAt>
HWY_INLINE void AdamOver(const AdamStep& step, const GradientAt& gradient_at, std::size_t n, Real* values, Real* first,
                         Real* second) {
  const auto real = [](double x) { return static_cast<Real>(x); };
  for_each_vector<Real>(n, [&](auto d, std::size_t j) {
    const auto g = gradient_at(d, j);
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

template <class Real>
void Adam(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first, Real* second) {
  const auto scale = static_cast<Real>(step.gradient_scale);
  AdamOver(step, [&](auto d, std::size_t j) { return hn::Mul(hn::Set(d, scale), hn::LoadU(d, gradient + j)); }, n, values,
           first, second);
}

template <class Real>
void AdamAtRest(const AdamStep& step, std::size_t n, Real* values, Real* first, Real* second) {
  AdamOver(step, [](auto d, std::size_t) { return hn::Zero(d); }, n, values, first, second);
}

#define SHARPMAX_FOR_REAL(Real, Suffix)                                                                              \
  void GeluInPlace##Suffix(Real* values, std::size_t n, Real* d_out) { GeluInPlace(values, n, d_out); }              \
  Real Dot##Suffix(const Real* a, const Real* b, std::size_t n) { return Dot(a, b, n); }                             \
  void AddScaled##Suffix(Real a, const Real* x, std::size_t n, Real* y) { AddScaled(a, x, n, y); }                   \
  double SumOfSquares##Suffix(const Real* values, std::size_t n) { return SumOfSquares(values, n); }                 \
  void Adam##Suffix(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first,            \
                    Real* second) {                                                                                  \
    Adam(step, gradient, n, values, first, second);                                                                  \
  }                                                                                                                  \
  void AdamAtRest##Suffix(const AdamStep& step, std::size_t n, Real* values, Real* first, Real* second) {            \
    AdamAtRest(step, n, values, first, second);                                                                      \
  }
SHARPMAX_FOR_REAL(float, F32)
SHARPMAX_FOR_REAL(double, F64)
#undef SHARPMAX_FOR_REAL

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::learning
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::learning {

#define SHARPMAX_EXPORT_REAL(Real, Suffix)                                                                           \
  HWY_EXPORT(GeluInPlace##Suffix);                                                                                   \
  HWY_EXPORT(Dot##Suffix);                                                                                           \
  HWY_EXPORT(AddScaled##Suffix);                                                                                     \
  HWY_EXPORT(SumOfSquares##Suffix);                                                                                  \
  HWY_EXPORT(Adam##Suffix);                                                                                          \
  HWY_EXPORT(AdamAtRest##Suffix);                                                                                    \
  template <>                                                                                                        \
  void gelu_in_place(Real* values, std::size_t n, Real* d_out) {                                                     \
    HWY_DYNAMIC_DISPATCH(GeluInPlace##Suffix)(values, n, d_out);                                                     \
  }                                                                                                                  \
  template <>                                                                                                        \
  Real dot(const Real* a, const Real* b, std::size_t n) {                                                            \
    return HWY_DYNAMIC_DISPATCH(Dot##Suffix)(a, b, n);                                                               \
  }                                                                                                                  \
  template <>                                                                                                        \
  void add_scaled(Real a, const Real* x, std::size_t n, Real* y) {                                                   \
    HWY_DYNAMIC_DISPATCH(AddScaled##Suffix)(a, x, n, y);                                                             \
  }                                                                                                                  \
  template <>                                                                                                        \
  double sum_of_squares(const Real* values, std::size_t n) {                                                         \
    return HWY_DYNAMIC_DISPATCH(SumOfSquares##Suffix)(values, n);                                                    \
  }                                                                                                                  \
  template <>                                                                                                        \
  void adam(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first, Real* second) {    \
    HWY_DYNAMIC_DISPATCH(Adam##Suffix)(step, gradient, n, values, first, second);                                    \
  }                                                                                                                  \
  template <>                                                                                                        \
  void adam_at_rest(const AdamStep& step, std::size_t n, Real* values, Real* first, Real* second) {                  \
    HWY_DYNAMIC_DISPATCH(AdamAtRest##Suffix)(step, n, values, first, second);                                        \
  }
SHARPMAX_EXPORT_REAL(float, F32)
SHARPMAX_EXPORT_REAL(double, F64)
#undef SHARPMAX_EXPORT_REAL

}  // namespace sharpmax::learning
#endif  // HWY_ONCE
