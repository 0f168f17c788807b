// Rows weighed by [z - tau]+^p with z = (alpha - 1) beta (e - m) and p = 1 / (alpha - 1): sparsemax
// (p = 1), entmax-1.5 (p = 2) and every alpha between 1 and 2.
//
// z <= 0 and the largest key alone keeps the sum at 1 or more for tau = -1, so only keys with
// z > -1 can get weight: the candidates. The p-norm of [z - tau]+ is convex and falls with tau, so
// Newton's method on "norm = 1" from tau = -1 climbs to the root without overshooting. For p = 1 and
// 2 it runs in float until it is close, then in double on the very gaps that the weights are made of.
#if defined(SHARPMAX_ROWS_THRESHOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_THRESHOLD_INL_H_
#undef SHARPMAX_ROWS_THRESHOLD_INL_H_
#else
#define SHARPMAX_ROWS_THRESHOLD_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Gaps e - m of every key with slope * gap > -1, in key order, padded with -inf to four whole
// vectors. NaN counts as a candidate: it must reach the sums.
HWY_INLINE HWY_MAYBE_UNUSED std::size_t collect_candidates(const ScoreRow& row, float max, double slope,
                                                           float* to) {
  const FloatTag d;
  const std::size_t n = hn::Lanes(d);
  const Floats top = Splat(max);
  const Floats limit = Splat(static_cast<float>(-1.0 / slope) * (1.0f + 0x1p-22f));
  std::size_t count = 0;
  walk(row, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats gap = hn::Sub(hn::LoadU(d, data), top);
    const auto keep = hn::Not(hn::Lt(gap, limit));
    // Compressed in a register: storing through a mask is slow on some machines.
    hn::StoreU(hn::Compress(gap, keep), d, to + count);
    count += hn::CountTrue(d, keep);
  });
  for (std::size_t k = 0; k < 4; ++k) hn::StoreU(Splat(-kInfinity), d, to + count + k * n);
  return count;
}

// Newton's step for the p-norm, from the sums of [z - tau]+^p and of [z - tau]+^(p - 1).
template <int kPower>
HWY_INLINE double newton_step(double sum, double slope_sum) {
  if constexpr (kPower == 1) return (sum - 1.0) / slope_sum;
  return (sum - std::sqrt(sum)) / slope_sum;
}

struct PowerSums {
  double sum = 0.0;    // of [z - tau]+^p
  double slope = 0.0;  // of [z - tau]+^(p - 1)
};

template <int kPower>
HWY_INLINE PowerSums power_sums_float(const float* gaps, std::size_t count, float slope, float tau) {
  const FloatTag d;
  const std::size_t n = hn::Lanes(d);
  const Floats zero = hn::Zero(d), one = Splat(1.0f);
  const Floats factor = Splat(slope), threshold = Splat(tau);
  Floats sum[2] = {zero, zero}, slopes[2] = {zero, zero};
  for (std::size_t i = 0; i < count; i += 2 * n) {
    for (std::size_t k = 0; k < 2; ++k) {
      const Floats over = hn::MulSub(hn::LoadU(d, gaps + i + k * n), factor, threshold);
      if constexpr (kPower == 1) {
        const auto in = hn::Gt(over, zero);
        sum[k] = hn::Add(sum[k], hn::IfThenElseZero(in, over));
        slopes[k] = hn::Add(slopes[k], hn::IfThenElseZero(in, one));
      } else {
        const Floats root = hn::Max(over, zero);
        sum[k] = hn::MulAdd(root, root, sum[k]);
        slopes[k] = hn::Add(slopes[k], root);
      }
    }
  }
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[0], sum[1]))),
          hn::GetLane(hn::SumOfLanes(d, hn::Add(slopes[0], slopes[1])))};
}

template <int kPower>
HWY_INLINE PowerSums power_sums_double(const float* gaps, std::size_t count, double slope, double tau) {
  const DoubleTag d;
  const HalfTag half;
  const std::size_t n = hn::Lanes(d);
  const Doubles zero = hn::Zero(d), one = hn::Set(d, 1.0);
  const Doubles factor = hn::Set(d, slope), threshold = hn::Set(d, tau);
  Doubles sum[2] = {zero, zero}, slopes[2] = {zero, zero};
  for (std::size_t i = 0; i < count; i += 2 * n) {
    for (std::size_t k = 0; k < 2; ++k) {
      const Doubles gap = hn::PromoteTo(d, hn::LoadU(half, gaps + i + k * n));
      const Doubles over = hn::Sub(hn::Mul(gap, factor), threshold);
      // A NaN must not be taken for a key below the threshold.
      const auto out = hn::Le(over, zero);
      const Doubles root = hn::IfThenZeroElse(out, over);
      if constexpr (kPower == 1) {
        sum[k] = hn::Add(sum[k], root);
        slopes[k] = hn::Add(slopes[k], hn::IfThenZeroElse(out, one));
      } else {
        sum[k] = hn::MulAdd(root, root, sum[k]);
        slopes[k] = hn::Add(slopes[k], root);
      }
    }
  }
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(sum[0], sum[1]))),
          hn::GetLane(hn::SumOfLanes(d, hn::Add(slopes[0], slopes[1])))};
}

// tau in [-1, 0), or NaN if a gap was. The last step taken is below 2^-20 of the distance to the
// largest key and convergence is quadratic, so what is left is of the order of double's rounding.
template <int kPower>
HWY_NOINLINE inline double solve_threshold(const float* gaps, std::size_t count, double slope) {
  constexpr int kMostSteps = 100;  // never reached: each climbs, and the last few square the error
  // The largest weight is at least the mean over the candidates: a bound that float cannot round past.
  const double mean = 1.0 / static_cast<double>(count);
  const double highest = kPower == 1 ? -mean : -std::sqrt(mean);
  double tau = -1.0;
  for (int i = 0; i < kMostSteps; ++i) {
    const PowerSums sums =
        power_sums_float<kPower>(gaps, count, static_cast<float>(slope), static_cast<float>(tau));
    const double step = newton_step<kPower>(sums.sum, sums.slope);
    if (!(step > -0x1p-8 * tau)) break;
    tau = std::min(tau + step, highest);
  }
  for (int i = 0; i < kMostSteps; ++i) {
    const PowerSums sums = power_sums_double<kPower>(gaps, count, slope, tau);
    const double step = newton_step<kPower>(sums.sum, sums.slope);
    tau += step;
    if (!(std::abs(step) > -0x1p-20 * tau)) break;
  }
  return tau;
}

// Writes the weights of a solved row. gap * slope - tau is formed from both in two floats, so that
// weights far below the gaps keep their digits.
template <int kPower>
HWY_INLINE HWY_MAYBE_UNUSED void write_threshold_weights(const ScoreRow& row, float max, double slope,
                                                         double tau) {
  const FloatTag d;
  const float slope_high = static_cast<float>(slope), tau_high = static_cast<float>(tau);
  const Floats slope1 = Splat(slope_high), slope2 = Splat(static_cast<float>(slope - slope_high));
  const Floats tau1 = Splat(tau_high), tau2 = Splat(static_cast<float>(tau - tau_high));
  const Floats top = Splat(max), zero = hn::Zero(d);
  const Floats lowest = Splat(std::numeric_limits<float>::lowest());
  walk(row, [&](std::size_t, float* data, std::size_t) SHARPMAX_PASS {
    const Floats gap = hn::Max(hn::Sub(hn::LoadU(d, data), top), lowest);
    const Floats over = hn::Add(hn::MulSub(gap, slope1, tau1), hn::MulSub(gap, slope2, tau2));
    const Floats root = hn::Max(over, zero);
    hn::StoreU(kPower == 1 ? root : hn::Mul(root, root), d, data);
  });
}

template <int kPower>
HWY_INLINE HWY_MAYBE_UNUSED Weighed weigh_threshold(const RowCall& call) {
  const double slope = (call.rule.alpha - 1.0) * call.rule.beta;
  const std::size_t count = collect_candidates(call.row, call.max, slope, call.workspace.candidates());
  const double tau = solve_threshold<kPower>(call.workspace.candidates(), count, slope);
  if (std::isnan(tau)) return Weighed::poisoned;
  write_threshold_weights<kPower>(call.row, call.max, slope, tau);
  call.out.scale = 1.0f;
  call.out.mass = 1.0;
  call.out.facts = {.temperature = call.rule.beta, .threshold = tau + slope * static_cast<double>(call.max)};
  return Weighed::done;
}

// ---- Any alpha below 2: powers by logarithm and exponential, in float throughout; what rounding leaves
// of the sum is divided out in the end.

// t^power for t >= 0 and power > 0; NaN stays NaN.
HWY_INLINE HWY_MAYBE_UNUSED Floats power_of(Floats t, const Exponential& exponential) {
  const Floats zero = hn::Zero(FloatTag());
  const Floats value = exponential(logarithm(hn::Max(t, Splat(std::numeric_limits<float>::min()))));
  return hn::IfThenElse(hn::Eq(t, t), hn::IfThenZeroElse(hn::Eq(t, zero), value), t);
}

HWY_INLINE HWY_MAYBE_UNUSED PowerSums power_sums_general(const ScoreRow& gaps, double slope, double tau,
                                                         const Exponential& one_less) {
  const FloatTag d;
  const Floats factor = Splat(static_cast<float>(slope)), threshold = Splat(static_cast<float>(tau));
  const Floats zero = hn::Zero(d);
  RowSum sum, slopes;
  walk(
      gaps,
      [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
        const Floats over = hn::MulSub(hn::LoadU(d, data), factor, threshold);
        const Floats root = hn::IfThenZeroElse(hn::Le(over, zero), over);
        const Floats power = power_of(root, one_less);
        slopes.add(k, power);
        sum.add_product(k, power, root);
      },
      [&]() SHARPMAX_PASS {
        sum.fold();
        slopes.fold();
      });
  return {sum.value(), slopes.value()};
}

HWY_NOINLINE inline double solve_general_threshold(const ScoreRow& gaps, std::size_t count, double slope,
                                                   double power) {
  constexpr int kMostSteps = 100;
  const Exponential one_less(power - 1.0);
  const double highest = -std::pow(static_cast<double>(count), -1.0 / power);
  double tau = -1.0;
  for (int i = 0; i < kMostSteps; ++i) {
    const PowerSums sums = power_sums_general(gaps, slope, tau, one_less);
    const double step = (sums.sum - std::pow(sums.sum, 1.0 - 1.0 / power)) / sums.slope;
    tau = std::isnan(step) ? step : std::min(tau + step, highest);
    if (!(std::abs(step) > -0x1p-19 * tau)) break;
  }
  return tau;
}

HWY_NOINLINE inline Weighed weigh_general_threshold(const RowCall& call) {
  const FloatTag d;
  const double slope = (call.rule.alpha - 1.0) * call.rule.beta, power = 1.0 / (call.rule.alpha - 1.0);
  float* const candidates = call.workspace.candidates();
  const std::size_t count = collect_candidates(call.row, call.max, slope, candidates);
  const std::size_t whole = (count + hn::Lanes(d) - 1) / hn::Lanes(d) * hn::Lanes(d);
  const double tau = solve_general_threshold({candidates, 1, whole, whole}, count, slope, power);
  if (std::isnan(tau)) return Weighed::poisoned;
  write_threshold_weights<1>(call.row, call.max, slope, tau);
  const Exponential exponential(power);
  RowSum sum;
  walk(
      call.row,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats root = hn::LoadU(d, data);
        if (hn::AllTrue(d, hn::Eq(root, hn::Zero(d)))) return;
        const Floats weight = power_of(root, exponential);
        sum.add(k, weight);
        hn::StoreU(weight, d, data);
      },
      [&]() SHARPMAX_PASS { sum.fold(); });
  call.out.scale = static_cast<float>(1.0 / sum.value());
  call.out.mass = 1.0;
  call.out.facts = {.temperature = call.rule.beta, .threshold = tau + slope * static_cast<double>(call.max)};
  return Weighed::done;
}

// Above alpha = 2 the slope at the edge of the support is unbounded: not for float.
HWY_INLINE HWY_MAYBE_UNUSED bool has_threshold_kernel(const Rule& rule) {
  return rule.beta > 0.0 && rule.alpha > 1.0 && rule.alpha <= 2.0;
}

HWY_NOINLINE inline Weighed weigh_by_threshold(const RowCall& call) {
  if (!has_threshold_kernel(call.rule)) return Weighed::not_here;
  if (call.rule.alpha == 2.0) return weigh_threshold<1>(call);
  if (call.rule.alpha == 1.5) return weigh_threshold<2>(call);
  return weigh_general_threshold(call);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
