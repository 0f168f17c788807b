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

// 2^r for r in [-1/2, 1/2], 2^0 exactly 1: minimax in relative error, 2e-9 before rounding.
HWY_INLINE HWY_MAYBE_UNUSED Floats exp2_fraction(Floats r) {
  Floats p = Splat(0x1.41fbbcp-13f);
  p = hn::MulAdd(p, r, Splat(0x1.5f3e54p-10f));
  p = hn::MulAdd(p, r, Splat(0x1.3b2d4cp-7f));
  p = hn::MulAdd(p, r, Splat(0x1.c6aee8p-5f));
  p = hn::MulAdd(p, r, Splat(0x1.ebfbdcp-3f));
  p = hn::MulAdd(p, r, Splat(0x1.62e430p-1f));
  return hn::MulAdd(p, r, Splat(1.0f));
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
    const Floats fraction =
        hn::MulAdd(x, Splat(low_), hn::MulSub(x, high, hn::Sub(shifted, shifter)));
#else
    const Floats scaled = hn::Mul(x, Splat(high_));
    const Floats shifted = hn::Add(hn::Mul(scaled, Splat(0x1.715476p+0f)), shifter);
    const Floats whole = hn::Sub(shifted, shifter);
    // ln 2 in two parts, the first short enough that its product with an exponent is exact.
    const Floats rest = hn::Sub(hn::Sub(scaled, hn::Mul(whole, Splat(0x1.62ep-1f))),
                                hn::Mul(whole, Splat(0x1.0bfbe8p-15f)));
    const Floats fraction = hn::Mul(rest, Splat(0x1.715476p+0f));
#endif
    const Floats power = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(IntTag(), shifted)));
    const Floats value = hn::Mul(exp2_fraction(fraction), power);
    return hn::IfThenZeroElse(hn::Lt(shifted, Splat(0x1.8p23f + 1.0f)), value);
  }

 private:
  float high_ = 0.0f, low_ = 0.0f;
};

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
