// Rules that weigh each key by itself and at most divide by a sum: sigmoid, relu, softpick,
// proportional, self_adjust; and hard.
#if defined(SHARPMAX_ROWS_POINTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_POINTWISE_INL_H_
#undef SHARPMAX_ROWS_POINTWISE_INL_H_
#else
#define SHARPMAX_ROWS_POINTWISE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "attention/rows/describe-inl.h"
#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Replaces every element by weight_of(element); returns the sum.
template <class WeightOf>
HWY_INLINE double map_row(const ScoreRow& row, const WeightOf& weight_of) {
  RowSum sum;
  walk(
      row,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats weight = weight_of(hn::LoadU(FloatTag(), data));
        sum.add(k, weight);
        hn::StoreU(weight, FloatTag(), data);
      },
      [&]() SHARPMAX_PASS { sum.fold(); });
  return sum.value();
}

// Sets scale and mass of weights that are to be multiplied by `factor`.
HWY_INLINE HWY_MAYBE_UNUSED Weighed finish(const RowCall& call, double sum, double factor) {
  if (std::isnan(sum)) return Weighed::poisoned;
  call.out.scale = static_cast<float>(factor);
  call.out.mass = sum * factor;
  return Weighed::done;
}

// 1 / (1 + exp(-x)), small values to full relative precision; 0 at -inf.
HWY_INLINE HWY_MAYBE_UNUSED Floats logistic(Floats x) {
  const Floats one = Splat(1.0f);
  const Floats small = Exponential(1.0)(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(FloatTag())), small, one), hn::Add(one, small));
}

HWY_NOINLINE inline Weighed weigh_sigmoid(const RowCall& call) {
  const Floats offset = Splat(static_cast<float>(call.rule.offset));
  const double sum = map_row(call.row, [&](Floats e) SHARPMAX_PASS { return logistic(hn::Add(e, offset)); });
  return finish(call, sum, 1.0);
}

HWY_NOINLINE inline Weighed weigh_relu(const RowCall& call) {
  // Not Max: it would drop a NaN.
  const double sum = map_row(call.row, [](Floats e) SHARPMAX_PASS {
    return hn::IfThenZeroElse(hn::Le(e, hn::Zero(FloatTag())), e);
  });
  return finish(call, sum, 1.0 / call.keys);
}

HWY_NOINLINE inline Weighed weigh_proportional(const RowCall& call) {
  const double sum = map_row(
      call.row, [](Floats e) SHARPMAX_PASS { return hn::IfThenZeroElse(hn::Eq(e, Splat(-kInfinity)), e); });
  return finish(call, sum, sum > 0.0 ? 1.0 / sum : 0.0);
}

// With shift = max(m, 0): (exp(e) - 1) exp(-shift) is (1 - exp(-e)) exp(e - shift) above 0, and
// (1 - exp(e)) exp(-shift) counts in the sum below it.
HWY_NOINLINE inline Weighed weigh_softpick(const RowCall& call) {
  const FloatTag d;
  const float shift = std::max(call.max, 0.0f);
  const Floats top = Splat(shift), zero = hn::Zero(d), masked = Splat(-kInfinity);
  const Exponential exponential(1.0);
  RowSum above, below;
  walk(
      call.row,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats e = hn::LoadU(d, data);
        const Floats lost = one_minus_exponential(hn::Neg(hn::Abs(e)));
        const auto at_most_zero = hn::Le(e, zero);
        const Floats weight = hn::IfThenZeroElse(at_most_zero, hn::Mul(lost, exponential(hn::Sub(e, top))));
        above.add(k, weight);
        below.add(k, hn::IfThenElseZero(hn::And(at_most_zero, hn::Ne(e, masked)), lost));
        hn::StoreU(weight, d, data);
      },
      [&]() SHARPMAX_PASS {
        above.fold();
        below.fold();
      });
  const double whole = above.value() + below.value() * std::exp(-static_cast<double>(shift));
  return finish(call, std::isnan(whole) ? whole : above.value(), whole > 0.0 ? 1.0 / whole : 0.0);
}

// The least score that is not masked. At least one is not.
HWY_INLINE HWY_MAYBE_UNUSED float smallest(const ScoreRow& row) {
  const FloatTag d;
  const Floats infinity = Splat(kInfinity);
  Floats least[4] = {infinity, infinity, infinity, infinity};
  walk(row, [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    least[k] = hn::Min(hn::IfThenElse(hn::Eq(e, Splat(-kInfinity)), infinity, e), least[k]);
  });
  return hn::GetLane(hn::MinOfLanes(d, hn::Min(hn::Min(least[0], least[1]), hn::Min(least[2], least[3]))));
}

// softmax(e) times the height (e - low) / (high - low) of the score in its row, or times e itself.
HWY_NOINLINE inline Weighed weigh_self_adjust(const RowCall& call) {
  const FloatTag d;
  const RowWishes& wishes = call.wishes;
  const bool plain = call.rule.target == 1.0;
  // Plain weights may be negative: what entropy and peak mean then, the specification says.
  if (plain && (wishes.entropy || wishes.peak || wishes.support || wishes.top > 0)) return Weighed::not_here;
  const float low = plain ? 0.0f : std::min(smallest(call.row), 0.0f);
  const double width = plain ? 1.0 : static_cast<double>(std::max(call.max, 0.0f)) - low;
  const Floats top = Splat(call.max), bottom = Splat(low), masked = Splat(-kInfinity);
  const Exponential exponential(1.0);
  RowSum softmax_sum, sum;
  walk(
      call.row,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats e = hn::LoadU(d, data);
        const Floats soft = exponential(hn::Sub(e, top));
        const Floats height = hn::IfThenZeroElse(hn::Eq(e, masked), hn::Sub(e, bottom));
        const Floats weight = hn::Mul(soft, height);
        softmax_sum.add(k, soft);
        sum.add(k, weight);
        hn::StoreU(weight, d, data);
      },
      [&]() SHARPMAX_PASS {
        softmax_sum.fold();
        sum.fold();
      });
  const double z = softmax_sum.value();
  call.out.facts = {.temperature = 1.0, .log_partition = static_cast<double>(call.max) + std::log(z)};
  return finish(call, std::isnan(z) ? z : sum.value(), width > 0.0 ? 1.0 / (z * width) : 0.0);
}

HWY_NOINLINE inline Weighed weigh_hard(const RowCall& call) {
  if (has_nan(call.row)) return Weighed::poisoned;
  const std::int64_t winner = index_of(call.row, call.max);
  fill(call.row, 0.0f);
  element(call.row, static_cast<std::size_t>(winner)) = 1.0f;
  call.out.scale = 1.0f;
  call.out.mass = 1.0;
  return Weighed::done;
}

// sigma(e_j) prod_{k > j} (1 - sigma(e_k)): the newest key breaks its share off the stick first.

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
