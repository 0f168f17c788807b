#include "retrieval/testing/item_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "retrieval/testing/item_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "attention/rows/math-inl.h"
#include "retrieval/head/folded.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax::retrieval {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using DoubleTag = hn::ScalableTag<double>;
using Floats = hn::Vec<FloatTag>;
using sharpmax::HWY_NAMESPACE::Exponential;

// What rows of features are padded to: whole vectors of floats, and of doubles two at a time.
std::size_t FeatureLanes() { return 2 * hn::Lanes(DoubleTag()); }

// -u = x (-kLinear - kCubic x^2)
constexpr double kLinear = kGeluRate;
constexpr double kCubic = kGeluRate * kGeluCubic;

// 2^z for z in [-1000, 1000]: within 2e-16 relative of that of the rounded z (the polynomial is Chebyshev's
// interpolant of degree 10 over [-1/2, 1/2], 2.2e-16 from 2^r), and two roundings.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfTwo(D d, V z) {
  // Adding it rounds to an integer k and leaves k + 1023, the exponent field of 2^k, in the low bits.
  const V shifter = hn::Set(d, 0x1.8p52 + 1023.0);
  const V shifted = hn::Add(z, shifter);
  const V r = hn::Sub(z, hn::Sub(shifted, shifter));
  V p = hn::Set(d, 0x1.e6063f7217bc6p-28);
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.b675bca4eeebbp-24));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.62bfd47773353p-20));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.ffcb54062e698p-17));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.430913096fd9fp-13));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.5d87fe9d7a584p-10));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.3b2ab6fba1ddap-7));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.c6b08d703ce49p-5));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.ebfbdff82c598p-3));
  p = hn::MulAdd(p, r, hn::Set(d, 0x1.62e42fefa3a19p-1));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0));
  const hn::RebindToUnsigned<D> bits;
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(bits, shifted))));
}

// 1 + exp(-u) in double, at most 2^490, so that a product of two is finite: where that cuts, GELU is 0
// but for 1e-140.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V GeluDivisor(D d, V x) {
  constexpr double kLog2E = 1.4426950408889634;
  const V z =
      hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(d, -kCubic * kLog2E), hn::Set(d, -kLinear * kLog2E)));
  const V cut = hn::Max(hn::Min(z, hn::Set(d, 490.0)), hn::Set(d, -1000.0));
  return hn::Add(hn::Set(d, 1.0), PowerOfTwo(d, cut));
}

HWY_INLINE Floats Gelu(Floats x) {
  const FloatTag d;
  const Floats minus_u = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), hn::Set(d, static_cast<float>(-kCubic)),
                                               hn::Set(d, static_cast<float>(-kLinear))));
  // e^87 is finite; beyond, GELU is 0 but for 1e-36.
  const Floats e = Exponential(1.0)(hn::Min(minus_u, hn::Set(d, 87.0f)));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), e));
}

void ScoreItems(const ItemLayer& layer, std::span<const double> query, double query_bias, Items items,
                std::span<double> scores) {
  const DoubleTag d;
  const std::size_t lanes = hn::Lanes(d), stride = layer.stride;
  const double* const slope = layer.slope.data();
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double* const offset = layer.offset.data() + static_cast<std::size_t>(items.classes[i]) * stride;
    const auto priority = hn::Set(d, items.priorities[i]);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    for (std::size_t j = 0; j < stride; j += 2 * lanes) {
      const std::size_t k = j + lanes;
      const auto x = hn::MulAdd(priority, hn::LoadU(d, slope + j), hn::LoadU(d, offset + j));
      const auto y = hn::MulAdd(priority, hn::LoadU(d, slope + k), hn::LoadU(d, offset + k));
      // One division for two: x / p = x q / (p q).
      const auto p = GeluDivisor(d, x), q = GeluDivisor(d, y);
      const auto inverse = hn::Div(hn::Set(d, 1.0), hn::Mul(p, q));
      even = hn::MulAdd(hn::Mul(hn::LoadU(d, query.data() + j), x), hn::Mul(q, inverse), even);
      odd = hn::MulAdd(hn::Mul(hn::LoadU(d, query.data() + k), y), hn::Mul(p, inverse), odd);
    }
    scores[i] = query_bias + hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  }
}

void FeaturesOfItems(const ItemLayer& layer, Items items, std::span<const std::int64_t> indices,
                     std::span<float> features) {
  const DoubleTag d;
  const hn::Rebind<float, DoubleTag> narrow;
  const FloatTag df;
  const std::size_t stride = layer.stride;
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const auto i = static_cast<std::size_t>(indices[row]);
    const double* const offset = layer.offset.data() + static_cast<std::size_t>(items.classes[i]) * stride;
    const auto priority = hn::Set(d, items.priorities[i]);
    float* const out = features.data() + row * stride;
    for (std::size_t j = 0; j < stride; j += hn::Lanes(d)) {
      const auto x = hn::MulAdd(priority, hn::LoadU(d, layer.slope.data() + j), hn::LoadU(d, offset + j));
      hn::StoreU(hn::DemoteTo(narrow, x), narrow, out + j);
    }
    for (std::size_t j = 0; j < stride; j += hn::Lanes(df))
      hn::StoreU(Gelu(hn::LoadU(df, out + j)), df, out + j);
  }
}

// kVectors together, to hide the latency of the recurrence b_k = c_k + 2 t b_{k+1} - b_{k+2}.
template <int kVectors, class D>
HWY_INLINE void SumSeries(D d, std::span<const double> coefficients, const double* x, double* out) {
  using V = hn::Vec<D>;
  const std::size_t lanes = hn::Lanes(d);
  V t[kVectors], next[kVectors], after[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    t[v] =
        hn::MulSub(hn::Set(d, 2.0), hn::LoadU(d, x + static_cast<std::size_t>(v) * lanes), hn::Set(d, 1.0));
    next[v] = after[v] = hn::Zero(d);
  }
  for (std::size_t k = coefficients.size() - 1; k > 0; --k) {
    const V c = hn::Set(d, coefficients[k]);
    for (int v = 0; v < kVectors; ++v) {
      const V b = hn::MulAdd(hn::Add(t[v], t[v]), next[v], hn::Sub(c, after[v]));
      after[v] = next[v];
      next[v] = b;
    }
  }
  for (int v = 0; v < kVectors; ++v)
    hn::StoreU(hn::MulAdd(t[v], next[v], hn::Sub(hn::Set(d, coefficients[0]), after[v])), d,
               out + static_cast<std::size_t>(v) * lanes);
}

void ChebyshevSeries(std::span<const double> coefficients, std::span<const double> x, std::span<double> out) {
  const DoubleTag d;
  constexpr int kVectors = 4;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + kVectors * lanes <= x.size(); i += kVectors * lanes)
    SumSeries<kVectors>(d, coefficients, x.data() + i, out.data() + i);
  for (; i < x.size(); ++i)
    SumSeries<1>(hn::CappedTag<double, 1>(), coefficients, x.data() + i, out.data() + i);
}

template <class D>
HWY_INLINE void GeluAt(D d, double* at) {
  const auto x = hn::LoadU(d, at);
  hn::StoreU(hn::Div(x, GeluDivisor(d, x)), d, at);
}

void GeluInPlace(std::span<double> values) {
  const DoubleTag d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= values.size(); i += hn::Lanes(d)) GeluAt(d, values.data() + i);
  for (; i < values.size(); ++i) GeluAt(hn::CappedTag<double, 1>(), values.data() + i);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::retrieval
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::retrieval {

HWY_EXPORT(FeatureLanes);
HWY_EXPORT(ScoreItems);
HWY_EXPORT(ChebyshevSeries);
HWY_EXPORT(FeaturesOfItems);
HWY_EXPORT(GeluInPlace);

ItemLayer::ItemLayer(const FoldedHead& head) {
  const auto width = static_cast<std::size_t>(head.width), classes = static_cast<std::size_t>(head.classes);
  const std::size_t lanes = HWY_DYNAMIC_DISPATCH(FeatureLanes)();
  stride = (width + lanes - 1) / lanes * lanes;
  slope = head.item_slope;
  slope.resize(stride, 0.0);
  offset.assign(classes * stride, 0.0);
  for (std::size_t c = 0; c < classes; ++c)
    std::copy_n(head.item_offset.data() + c * width, width, offset.data() + c * stride);
}

void chebyshev_series(std::span<const double> coefficients, std::span<const double> x,
                      std::span<double> out) {
  HWY_DYNAMIC_DISPATCH(ChebyshevSeries)(coefficients, x, out);
}
void score_items(const ItemLayer& layer, std::span<const double> query, double query_bias, Items items,
                 std::span<double> scores) {
  HWY_DYNAMIC_DISPATCH(ScoreItems)(layer, query, query_bias, items, scores);
}
void features_of_items(const ItemLayer& layer, Items items, std::span<const std::int64_t> indices,
                       std::span<float> features) {
  HWY_DYNAMIC_DISPATCH(FeaturesOfItems)(layer, items, indices, features);
}
void gelu_in_place(std::span<double> values) { HWY_DYNAMIC_DISPATCH(GeluInPlace)(values); }

}  // namespace sharpmax::retrieval
#endif  // HWY_ONCE
