// Vector exp and log in float, as the rows need them.
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

// exp(beta x) for one beta > 0 and many x: at most 1.2 ulp from that of the exact product where
// the machine has FMA; without, the product is rounded first. Results below 2^-126 are exactly 0;
// those above 2^127 are not to be asked for. exp(-inf) = 0, exp(NaN) = NaN.
class Exponential {
 public:
  explicit Exponential(double beta) {
    // A larger product with any gap that float can hold ends in 0 or 1 all the same.
    constexpr double kLargest = 1e38;
    constexpr double kLog2E = 1.4426950408889634;
    const double factor = std::min(HWY_NATIVE_FMA ? beta * kLog2E : beta, kLargest);
    high_ = static_cast<float>(factor);
    low_ = static_cast<float>(factor - high_);
  }

  HWY_INLINE Floats operator()(Floats x) const {
    const FloatTag d;
    // Adding it rounds to an integer k and leaves k + 127, the exponent field of 2^k, in the low bits.
    const Floats shifter = Splat(0x1.8p23f + 127.0f);
#if HWY_NATIVE_FMA
    const Floats high = Splat(high_);
    const Floats shifted = hn::MulAdd(x, high, shifter);
    const Floats fraction = hn::MulAdd(x, Splat(low_), hn::MulSub(x, high, hn::Sub(shifted, shifter)));
#else
    const Floats scaled = hn::Mul(x, Splat(high_));
    const Floats shifted = hn::Add(hn::Mul(scaled, Splat(0x1.715476p+0f)), shifter);
    const Floats whole = hn::Sub(shifted, shifter);
    // ln 2 in two parts, the first short enough that its product with an exponent is exact.
    const Floats near =
        hn::Sub(hn::Sub(scaled, hn::Mul(whole, Splat(0x1.62ep-1f))), hn::Mul(whole, Splat(0x1.0bfbe8p-15f)));
    const Floats rest = hn::Add(near, hn::Mul(x, Splat(low_)));
    const Floats fraction = hn::Mul(rest, Splat(0x1.715476p+0f));
#endif
    const Floats power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(IntTag(), shifted)));
    const Floats value = hn::Mul(hn::MulAdd(exp2_quotient(fraction), fraction, Splat(1.0f)), power);
    return hn::IfThenZeroElse(hn::Lt(shifted, Splat(0x1.8p23f + 1.0f)), value);
  }

 private:
  float high_ = 0.0f, low_ = 0.0f;
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
