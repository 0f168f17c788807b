#include "model/transformer/rope.h"

#include <algorithm>
#include <cmath>

#include "base/float16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/transformer/vector_parts.cc"
// foreach_target before all that is compiled for every instruction set.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace sharpmax::model {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

std::int64_t LaneCount() { return static_cast<std::int64_t>(hn::Lanes(Tag())); }

// A vector of which only the first `count` lanes are there; the rest are 0.
Vec LoadPart(const float* x, std::int64_t count) {
  HWY_ALIGN float part[hn::MaxLanes(Tag())] = {};
  std::copy_n(x, count, part);
  return hn::Load(Tag(), part);
}

void StorePart(Vec v, float* out, std::int64_t count) {
  HWY_ALIGN float part[hn::MaxLanes(Tag())];
  hn::Store(v, Tag(), part);
  std::copy_n(part, count, out);
}

// out[i] = map(x[i]) by vectors, the rest through one vector as well, so that every element rounds alike.
template <class Map>
void ForEach(const float* x, std::int64_t count, float* out, const Map& map) {
  const std::int64_t lanes = LaneCount();
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(map(hn::LoadU(Tag(), x + i), i, lanes), Tag(), out + i);
  if (i < count) StorePart(map(LoadPart(x + i, count - i), i, count - i), out + i, count - i);
}

Vec LoadAt(const float* x, std::int64_t i, std::int64_t lanes) {
  return lanes == LaneCount() ? hn::LoadU(Tag(), x + i) : LoadPart(x + i, lanes);
}

// The sum of term(x) over all elements, where term(0) counts for nothing.
template <class Term>
float SumOf(const float* x, std::int64_t count, const Term& term) {
  const std::int64_t lanes = LaneCount();
  Vec even = hn::Zero(Tag()), odd = hn::Zero(Tag());
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    even = term(even, hn::LoadU(Tag(), x + i), lanes);
    odd = term(odd, hn::LoadU(Tag(), x + i + lanes), lanes);
  }
  for (; i < count; i += lanes) {
    const std::int64_t there = std::min(lanes, count - i);
    even = term(even, LoadAt(x, i, there), there);
  }
  return hn::GetLane(hn::SumOfLanes(Tag(), hn::Add(even, odd)));
}

void RootMeanSquareNorm(const float* x, const float* scale, std::int64_t count, double epsilon, float* out) {
  const float squares = SumOf(x, count, [](Vec sum, Vec v, std::int64_t) { return hn::MulAdd(v, v, sum); });
  const double mean = static_cast<double>(squares) / static_cast<double>(count);
  const Vec factor = hn::Set(Tag(), static_cast<float>(1.0 / std::sqrt(mean + epsilon)));
  ForEach(x, count, out, [&](Vec v, std::int64_t i, std::int64_t lanes) {
    return hn::Mul(hn::Mul(v, factor), LoadAt(scale, i, lanes));
  });
}

void LayerNorm(const float* x, const float* scale, const float* shift, std::int64_t count, double epsilon,
               float* out) {
  const Tag d;
  const double n = static_cast<double>(count);
  const float sum = SumOf(x, count, [](Vec s, Vec v, std::int64_t) { return hn::Add(s, v); });
  const Vec mean = hn::Set(d, static_cast<float>(static_cast<double>(sum) / n));
  const float squares = SumOf(x, count, [&](Vec s, Vec v, std::int64_t there) {
    const Vec off = hn::Sub(v, mean);
    const Vec counted = hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(there)), off);
    return hn::MulAdd(counted, counted, s);
  });
  const Vec factor =
      hn::Set(d, static_cast<float>(1.0 / std::sqrt(static_cast<double>(squares) / n + epsilon)));
  ForEach(x, count, out, [&](Vec v, std::int64_t i, std::int64_t lanes) {
    return hn::MulAdd(hn::Mul(hn::Sub(v, mean), factor), LoadAt(scale, i, lanes), LoadAt(shift, i, lanes));
  });
}

// x / (1 + exp(-u)). Beyond -87 exp(-u) is infinite in float and the quotient 0 at any rate.
Vec TimesSigmoid(Vec x, Vec u) {
  const Tag d;
  const Vec e = hn::Exp(d, hn::Neg(hn::Max(u, hn::Set(d, -87.0f))));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), e));
}

Vec Silu(Vec x) { return TimesSigmoid(x, x); }

// The tanh form: (1 + tanh(z)) / 2 is the sigmoid of 2 z, z = sqrt(2 / pi) (x + 0.044715 x^3).
Vec GeluTanh(Vec x) {
  const Tag d;
  const Vec rate = hn::Set(d, 1.5957691216057308f);
  const Vec cubic = hn::Set(d, 0.044715f);
  return TimesSigmoid(x, hn::Mul(hn::Mul(x, rate), hn::MulAdd(hn::Mul(x, x), cubic, hn::Set(d, 1.0f))));
}

// The activation of gpt-oss. Max and Min of Highway take the second of two if one is NaN on some machines: NaN is put back.
Vec ClampedSwish(Vec gate, Vec up) {
  const Tag d;
  const Vec most = hn::Set(d, 7.0f), least = hn::Set(d, -7.0f);
  const Vec g = hn::IfThenElse(hn::IsNaN(gate), gate, hn::Min(gate, most));
  const Vec u = hn::IfThenElse(hn::IsNaN(up), up, hn::Max(hn::Min(up, most), least));
  return hn::Mul(hn::Add(u, hn::Set(d, 1.0f)), TimesSigmoid(g, hn::Mul(g, hn::Set(d, 1.702f))));
}

void Activate(Activation activation, const float* gate, const float* up, std::int64_t count, float* out) {
  if (activation == Activation::clamped_swish) {
    return ForEach(gate, count, out, [&](Vec v, std::int64_t i, std::int64_t lanes) {
      return ClampedSwish(v, LoadAt(up, i, lanes));
    });
  }
  const auto with = [&](const auto& function) {
    ForEach(gate, count, out, [&](Vec v, std::int64_t i, std::int64_t lanes) {
      const Vec activated = function(v);
      return up ? hn::Mul(activated, LoadAt(up, i, lanes)) : activated;
    });
  };
  if (activation == Activation::silu) {
    with([](Vec v) { return Silu(v); });
  } else {
    with([](Vec v) { return GeluTanh(v); });
  }
}

void AddTo(float* sum, const float* x, std::int64_t count) {
  ForEach(x, count, sum,
          [&](Vec v, std::int64_t i, std::int64_t lanes) { return hn::Add(LoadAt(sum, i, lanes), v); });
}

void MultiplyBy(float* x, float factor, std::int64_t count) {
  ForEach(x, count, x, [&](Vec v, std::int64_t, std::int64_t) { return hn::Mul(v, hn::Set(Tag(), factor)); });
}

void SoftCap(float* x, double cap, std::int64_t count) {
  const Vec by = hn::Set(Tag(), static_cast<float>(cap));
  ForEach(x, count, x,
          [&](Vec v, std::int64_t, std::int64_t) { return hn::Mul(by, hn::Tanh(Tag(), hn::Div(v, by))); });
}

void ToFloat16(const float* x, std::int64_t count, float16* out) {
  std::int64_t i = 0;
#if HWY_TARGET <= HWY_AVX2  // below it Highway's conversion loses infinities and NaN
  const hn::Rebind<hwy::float16_t, Tag> half;
  const std::int64_t lanes = LaneCount();
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(Tag(), x + i)), half, reinterpret_cast<hwy::float16_t*>(out) + i);
#endif
  for (; i < count; ++i) out[i] = sharpmax::to_float16(x[i]);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax::model
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sharpmax::model {

HWY_EXPORT(RootMeanSquareNorm);
HWY_EXPORT(LayerNorm);
HWY_EXPORT(Activate);
HWY_EXPORT(AddTo);
HWY_EXPORT(MultiplyBy);
HWY_EXPORT(SoftCap);
HWY_EXPORT(ToFloat16);

void root_mean_square_norm(const float* x, const float* scale, std::int64_t count, double epsilon,
                           float* out) {
  HWY_DYNAMIC_DISPATCH(RootMeanSquareNorm)(x, scale, count, epsilon, out);
}
void layer_norm(const float* x, const float* scale, const float* shift, std::int64_t count, double epsilon,
                float* out) {
  HWY_DYNAMIC_DISPATCH(LayerNorm)(x, scale, shift, count, epsilon, out);
}
void activate(Activation activation, const float* gate, const float* up, std::int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(Activate)(activation, gate, up, count, out);
}
void add_to(float* sum, const float* x, std::int64_t count) { HWY_DYNAMIC_DISPATCH(AddTo)(sum, x, count); }
void multiply_by(float* x, float factor, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(MultiplyBy)(x, factor, count);
}
void soft_cap(float* x, double cap, std::int64_t count) { HWY_DYNAMIC_DISPATCH(SoftCap)(x, cap, count); }
void to_float16(const float* x, std::int64_t count, float16* out) {
  HWY_DYNAMIC_DISPATCH(ToFloat16)(x, count, out);
}

}  // namespace sharpmax::model
#endif  // HWY_ONCE
