// sigma(e_j) prod_{k > j} (1 - sigma(e_k)): the newest key breaks its share off the stick first.
#if defined(SHARPMAX_ROWS_STICK_BREAKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_STICK_BREAKING_INL_H_
#undef SHARPMAX_ROWS_STICK_BREAKING_INL_H_
#else
#define SHARPMAX_ROWS_STICK_BREAKING_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Beyond this, exp(-x) is 0 in float and no older key gets anything.
inline constexpr double kNothingLeft = 104.0;

// One vector of keys, of which `broken_off` = -ln(what newer keys left). A masked key takes nothing.
HWY_INLINE HWY_MAYBE_UNUSED Floats break_off(float* data, double& broken_off) {
  const FloatTag d;
  const Floats zero = hn::Zero(d);
  const Floats e = hn::LoadU(d, data);
  const Floats small = logarithm_of_one_plus(Exponential(1.0)(hn::Neg(hn::Abs(e))));
  HWY_ALIGN float newer[HWY_LANES(float)];
  hn::Store(hn::Add(hn::Max(e, zero), small), d, newer);
  for (std::size_t lane = hn::Lanes(d); lane-- > 0;) {
    const double own = newer[lane];
    newer[lane] = static_cast<float>(broken_off);
    broken_off += own;
  }
  const Floats exponent = hn::Sub(hn::Sub(hn::Min(e, zero), small), hn::Load(d, newer));
  const Floats weight = Exponential(1.0)(exponent);
  hn::StoreU(weight, d, data);
  return weight;
}

HWY_NOINLINE inline Weighed weigh_stick_breaking(const RowCall& call) {
  const FloatTag d;
  if (has_nan(call.row)) return Weighed::poisoned;
  const std::size_t n = hn::Lanes(d);
  double broken_off = 0.0, mass = 0.0;
  for (std::size_t c = call.row.chunks; c-- > 0;) {
    float* const chunk = call.row.data + c * call.row.stride;
    for (std::size_t l = call.row.lanes; l > 0;) {
      l -= n;
      if (broken_off > kNothingLeft) {
        hn::StoreU(hn::Zero(d), d, chunk + l);
        continue;
      }
      const Floats weight = break_off(chunk + l, broken_off);
      mass += hn::GetLane(hn::SumOfLanes(d, weight));
    }
  }
  call.out.scale = 1.0f;
  call.out.mass = mass;
  return Weighed::done;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
