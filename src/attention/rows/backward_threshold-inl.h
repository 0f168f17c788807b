// Gradients of threshold maps p = [z - tau]+^(1 / (alpha - 1)): by the scores, the temperature and alpha.
//
// With a = alpha - 1, l = ln p, slope = p^(1 - a) and D the mean of dP under the slopes,
//   d alpha = -sum of bend_j (dP_j - D),  bend = p l^2 s(-a l),  s(y) = (e^y - 1 - y) / y^2
// (src/normalizer/entmax_map.cc). e^y is slope / p, so bend = (slope - p (1 + y)) / a^2 costs a logarithm
// and no exponential; where y is small, and this would cancel, s is its series.
#if defined(SHARPMAX_ROWS_BACKWARD_THRESHOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_BACKWARD_THRESHOLD_INL_H_
#undef SHARPMAX_ROWS_BACKWARD_THRESHOLD_INL_H_
#else
#define SHARPMAX_ROWS_BACKWARD_THRESHOLD_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <limits>

#include "attention/rows/gradient-inl.h"
#include "attention/rows/math-inl.h"
#include "attention/rows/threshold-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// s(y) for y in [0, 1]: the first term left out is below 3e-9 of it.
HWY_INLINE HWY_MAYBE_UNUSED Floats second_order_series(Floats y) {
  Floats s = Splat(1.0f / 39916800.0f);
  s = hn::MulAdd(s, y, Splat(1.0f / 3628800.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 362880.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 40320.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 5040.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 720.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 120.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 24.0f));
  s = hn::MulAdd(s, y, Splat(1.0f / 6.0f));
  return hn::MulAdd(s, y, Splat(0.5f));
}

// a^2 bend, of weights of which 0 has none.
HWY_INLINE HWY_MAYBE_UNUSED Floats bend_of(Floats weight, Floats slope, Floats a) {
  const Floats log_weight = logarithm(hn::Max(weight, Splat(std::numeric_limits<float>::min())));
  const Floats y = hn::Neg(hn::Mul(a, log_weight));
  const Floats far = hn::Sub(slope, hn::MulAdd(weight, y, weight));
  const Floats near = hn::Mul(hn::Mul(weight, second_order_series(y)), hn::Mul(y, y));
  return hn::IfThenElse(hn::Lt(y, Splat(1.0f)), near, far);
}

template <class SlopeOf>
HWY_INLINE void backward_threshold(const GradientCall& call, const SlopeOf& slope_of) {
  const double a = call.rule.alpha - 1.0;
  const SlopeSums sums = scale_and_sum(call.weights, call.out.scale, call.d_weights, slope_of);
  const double mean = sums.mean / sums.slopes;
  if (!call.wanted.alpha && !call.wanted.beta)
    return write_gradient(call.weights, call.d_weights, call.rule.beta, mean, slope_of);
  const Floats a_everywhere = Splat(static_cast<float>(a));
  RowSum bends;
  if (!call.wanted.beta) {
    write_gradient(
        call.weights, call.d_weights, call.rule.beta, mean, slope_of,
        [&](std::size_t k, std::size_t, Floats weight, Floats slope, Floats centred)
            SHARPMAX_PASS { bends.add_product(k, bend_of(weight, slope, a_everywhere), centred); },
        [&]() SHARPMAX_PASS { bends.fold(); });
  } else {
    GapSum d_beta(call);
    write_gradient(
        call.weights, call.d_weights, call.rule.beta, mean, slope_of,
        [&](std::size_t k, std::size_t index, Floats weight, Floats slope, Floats centred) SHARPMAX_PASS {
          bends.add_product(k, bend_of(weight, slope, a_everywhere), centred);
          d_beta.add(k, index, slope, centred);
        },
        [&]() SHARPMAX_PASS {
          bends.fold();
          d_beta.fold();
        });
    call.d_rule.beta = d_beta.value();
  }
  call.d_rule.alpha = -bends.value() / (a * a);
}

HWY_NOINLINE inline void backward_by_threshold(const GradientCall& call) {
  if (call.rule.alpha == 2.0)
    return backward_threshold(call, [](Floats w) SHARPMAX_PASS { return where_positive(w, Splat(1.0f)); });
  if (call.rule.alpha == 1.5)
    return backward_threshold(call, [](Floats w) SHARPMAX_PASS { return hn::Sqrt(w); });
  const Exponential slope(2.0 - call.rule.alpha);
  return backward_threshold(call, [&](Floats w) SHARPMAX_PASS { return power_of(w, slope); });
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
