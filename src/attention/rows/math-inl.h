// Vector exp, log and soft cap in float, as the rows need them.
//
// The library's own: they take the temperature into the range reduction at no cost, keep NaN, and
// give exactly 0 for -inf. Errors over every 97th float: tests/oracle/rows_against_oracle.cc.
#if defined(SHARPMAX_ROWS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_MATH_INL_H_
#undef SHARPMAX_ROWS_MATH_INL_H_
#else
#define SHARPMAX_ROWS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// (2^r - 1) / r for r in [-1/2, 1/2]: 1 + r q(r) is minimax in relative error, 2e-9 before rounding.
HWY_INLINE HWY_MAYBE_UNUSED Floats exp2_quotient(Floats r) {
  Floats q = Splat(0x1.41fbbcp-13f);
  q = hn::MulAdd(q, r, Splat(0x1.5f3e54p-10f));
  q = hn::MulAdd(q, r, Splat(0x1.3b2d4cp-7f));
  q = hn::MulAdd(q, r, Splat(0x1.c6aee8p-5f));
  q = hn::MulAdd(q, r, Splat(0x1.ebfbdcp-3f));
  return hn::MulAdd(q, r, Splat(0x1.62e430p-1f));
}

// beta x = (k + fraction) ln 2 for one beta > 0 and many x, k whole and |fraction| <= 1/2 (of -inf and NaN:
// no such thing). Where the machine has FMA the fraction is that of the exact product; without, the
// product is rounded first.
class BinaryExponent {
 public:
  explicit BinaryExponent(double beta) {
    // A larger product with any gap that float can hold ends in 0 or 1 all the same.
    constexpr double kLargest = 1e38;
    constexpr double kLog2E = 1.4426950408889634;
    const double factor = std::min(HWY_NATIVE_FMA ? beta * kLog2E : beta, kLargest);
    high_ = static_cast<float>(factor);
    low_ = static_cast<float>(factor - high_);
  }

  struct Parts {
    Floats fraction;
    Floats shifted;  // k + 127, the exponent field of 2^k, in its low bits
  };

  HWY_INLINE Parts operator()(Floats x) const {
    const Floats shifter = Shifter();
#if HWY_NATIVE_FMA
    const Floats high = Splat(high_);
    const Floats shifted = hn::MulAdd(x, high, shifter);
    return {hn::MulAdd(x, Splat(low_), hn::MulSub(x, high, hn::Sub(shifted, shifter))), shifted};
#else
    const Floats scaled = hn::Mul(x, Splat(high_));
    const Floats shifted = hn::Add(hn::Mul(scaled, Splat(0x1.715476p+0f)), shifter);
    const Floats whole = hn::Sub(shifted, shifter);
    // ln 2 in two parts, the first short enough that its product with an exponent is exact.
    const Floats near =
        hn::Sub(hn::Sub(scaled, hn::Mul(whole, Splat(0x1.62ep-1f))), hn::Mul(whole, Splat(0x1.0bfbe8p-15f)));
    const Floats rest = hn::Add(near, hn::Mul(x, Splat(low_)));
    return {hn::Mul(rest, Splat(0x1.715476p+0f)), shifted};
#endif
  }

  // 2^k for k from -126 to 127.
  static HWY_INLINE Floats Power(Floats shifted) {
    return hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::BitCast(IntTag(), shifted)));
  }
  // Where 2^k is below every normal number; not so of NaN.
  static HWY_INLINE hn::Mask<FloatTag> IsTiny(Floats shifted) {
    return hn::Lt(shifted, Splat(0x1.8p23f + 1.0f));
  }

 private:
  // Adding it rounds to an integer k and leaves k + 127 in the low bits.
  static HWY_INLINE Floats Shifter() { return Splat(0x1.8p23f + 127.0f); }

  float high_ = 0.0f, low_ = 0.0f;
};

// exp(beta x) for one beta > 0 and many x: at most 1.2 ulp from that of the exact product where
// the machine has FMA; without, the product is rounded first. Results below 2^-126 are exactly 0;
// those above 2^127 are not to be asked for. exp(-inf) = 0, exp(NaN) = NaN.
class Exponential {
 public:
  explicit Exponential(double beta) : exponent_(beta) {}

  HWY_INLINE Floats operator()(Floats x) const {
    const auto [fraction, shifted] = exponent_(x);
    const Floats power = BinaryExponent::Power(shifted);
    const Floats value = hn::Mul(hn::MulAdd(exp2_quotient(fraction), fraction, Splat(1.0f)), power);
    return hn::IfThenZeroElse(BinaryExponent::IsTiny(shifted), value);
  }

 private:
  BinaryExponent exponent_;
};

// c tanh(x / c) for one c > 0 and many x: with v = exp(-2 |x| / c) it is c (1 - v) / (1 + v), and its slope
// 4 v / (1 + v)^2. 1 - v is put together from 2^k and 2^fraction - 1, so that nothing cancels: a small
// score keeps every digit. Error bound: docs/design/numerics.md. NaN stays NaN, +-inf gives +-c.
class SoftCap {
 public:
  explicit SoftCap(double cap)
      : exponent_(2.0 / std::clamp(cap, kLeast, kMost)),
        cap_(static_cast<float>(std::min(cap, kMost))),
        limit_(static_cast<float>(kLevel * std::min(cap, kMost))) {}

  HWY_INLINE Floats operator()(Floats x) const {
    const Parts parts = Take(x);
    return Cap(x, parts);
  }
  // Also the slope.
  HWY_INLINE Floats operator()(Floats x, Floats& slope) const {
    const Parts parts = Take(x);
    slope = hn::Div(hn::Mul(Splat(4.0f), parts.v), hn::Mul(parts.one_plus_v, parts.one_plus_v));
    return Cap(x, parts);
  }

 private:
  // Beyond, float knows no other answer: caps that are 0 in float, and caps so large that what they
  // do to any score worth the name is below a rounding.
  static constexpr double kLeast = 0x1p-140, kMost = 0x1p100;
  // From |x| / c = 43 on v is below 2^-124, and tanh 1 to the last bit from 10 on.
  static constexpr double kLevel = 43.0;

  struct Parts {
    Floats v, one_minus_v, one_plus_v;
  };
  HWY_INLINE Parts Take(Floats x) const {
    const Floats size = hn::Abs(x), limit = Splat(limit_);
    // Not Min: NaN must pass.
    const auto [fraction, shifted] = exponent_(hn::Neg(hn::IfThenElse(hn::Gt(size, limit), limit, size)));
    const Floats power = BinaryExponent::Power(shifted);
    const Floats rest = hn::Mul(power, hn::Mul(fraction, exp2_quotient(fraction)));
    const Floats one = Splat(1.0f);
    const Floats v = hn::Add(power, rest);
    return {v, hn::Sub(hn::Sub(one, power), rest), hn::Add(one, v)};
  }
  // Near the cap as c - c 2 v / (1 + v): the roundings of the quotient count only for what is missing to c.
  HWY_INLINE Floats Cap(Floats x, const Parts& parts) const {
    const Floats cap = Splat(cap_);
    const auto near = hn::Lt(parts.v, Splat(0.25f));
    const Floats above = hn::IfThenElse(near, hn::Add(parts.v, parts.v), parts.one_minus_v);
    const Floats share = hn::Mul(cap, hn::Div(above, parts.one_plus_v));
    return hn::CopySign(hn::IfThenElse(near, hn::Sub(cap, share), share), x);
  }

  BinaryExponent exponent_;
  float cap_, limit_;
};

// Natural logarithm of positive normal floats, within 2 ulp also near 1; anything else gives some
// number that the caller must not use.
HWY_INLINE HWY_MAYBE_UNUSED Floats logarithm(Floats x) {
  const FloatTag d;
  const IntTag di;
  // x = m 2^k with m in [sqrt(1/2), sqrt(2)): the offset carries into the exponent just past sqrt(2).
  const Ints bits = hn::BitCast(di, x);
  const Ints exponent = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const Floats m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const Floats k = hn::ConvertTo(d, exponent);
  const Floats f = hn::Sub(m, Splat(1.0f));
  // ln m = 2 atanh(s), s = f / (2 + f), |s| < 0.172; the series' next term is below 2e-9.
  const Floats s = hn::Div(f, hn::Add(m, Splat(1.0f)));
  const Floats z = hn::Mul(s, s);
  Floats p = Splat(2.0f / 9.0f);
  p = hn::MulAdd(p, z, Splat(2.0f / 7.0f));
  p = hn::MulAdd(p, z, Splat(2.0f / 5.0f));
  p = hn::MulAdd(p, z, Splat(2.0f / 3.0f));
  // 2 s = f - s f, which keeps the digits that s has lost.
  const Floats tail = hn::Mul(s, hn::NegMulAdd(p, z, f));
  const Floats mantissa = hn::Sub(f, tail);
  return hn::MulAdd(k, Splat(0x1.62ep-1f), hn::MulAdd(k, Splat(0x1.0bfbe8p-15f), mantissa));
}

// 1 - exp(x) for x <= 0, to full relative precision near 0; 1 at -inf.
HWY_INLINE HWY_MAYBE_UNUSED Floats one_minus_exponential(Floats x) {
  // Within the reach of the polynomial 2^r - 1 = r q(r) needs no subtraction.
  const Floats near = Splat(-0.34f);
  const Floats r = hn::Max(hn::Mul(x, Splat(0x1.715476p+0f)), Splat(-0.5f));
  return hn::IfThenElse(hn::Gt(x, near), hn::Neg(hn::Mul(exp2_quotient(r), r)),
                        hn::Sub(Splat(1.0f), Exponential(1.0)(x)));
}

// ln(1 + x) for x in [0, 1], to full relative precision near 0.
HWY_INLINE HWY_MAYBE_UNUSED Floats logarithm_of_one_plus(Floats x) {
  const Floats one = Splat(1.0f);
  const Floats sum = hn::Add(one, x);
  const Floats lost = hn::Sub(x, hn::Sub(sum, one));
  return hn::Add(logarithm(sum), hn::Div(lost, sum));
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
