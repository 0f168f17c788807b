// The least temperature that is sharp enough: entropy_target and peak_target.
//
// A row's entropy and tail only grow when lighter keys are added (a key lighter than all k others has
// p <= 1 / (k + 1), so it adds p ln(1/p) >= p ln k, more than it takes away). So the root over the heaviest
// keys alone, the candidates, is a lower bound of the row's, and nearly the row's own. It costs little to
// find; one sweep over the whole row at that temperature and one Newton step from there lead to the
// temperature at which the row is weighed, and the sweep that weighs it checks that it is sharp enough.
// Should it not be, the scores are put back and the whole row is searched.
//
// Sums are good to a few 1e-7; the target is drawn in by kMargin so that the weights still keep it after
// rounding to float.
#if defined(SHARPMAX_ROWS_TEMPERATURE_SEARCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_TEMPERATURE_SEARCH_INL_H_
#undef SHARPMAX_ROWS_TEMPERATURE_SEARCH_INL_H_
#else
#define SHARPMAX_ROWS_TEMPERATURE_SEARCH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "attention/rows/exponential-inl.h"
#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// A row at one temperature. `ties` keys share the largest score; of the others, with gap g = e - m <= 0:
struct TemperatureSurvey {
  double beta = 1.0;
  double ties = 1.0;
  double tail = 0.0;    // sum of exp(beta g)
  double moment = 0.0;  // sum of exp(beta g) g
  double square = 0.0;  // sum of exp(beta g) g^2

  double sum() const { return ties + tail; }
  double entropy() const { return std::log1p((ties - 1.0) + tail) - beta * moment / sum(); }
  double variance() const {  // of the scores under the weights
    const double mean = moment / sum();
    return square / sum() - mean * mean;
  }
};

// The row is scores with top = m, or candidates, which are gaps already, with top = 0.
template <Store kStore>
HWY_NOINLINE inline TemperatureSurvey survey_at(const ScoreRow& row, float top, double ties, double beta) {
  const FloatTag d;
  const Exponential exponential(beta);
  const Floats largest_score = Splat(top), zero = hn::Zero(d);
  const Floats lowest = Splat(std::numeric_limits<float>::lowest());
  RowSum tail, moment, square;
  walk(
      row,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats gap = hn::Sub(hn::LoadU(d, data), largest_score);
        const Floats weight = exponential(gap);
        if constexpr (kStore == Store::yes) hn::StoreU(weight, d, data);
        const Floats finite_gap = hn::Max(lowest, gap);
        const Floats product = hn::Mul(weight, finite_gap);
        tail.add(k, hn::IfThenZeroElse(hn::Eq(gap, zero), weight));
        moment.add(k, product);
        if constexpr (kStore == Store::no) square.add_product(k, product, finite_gap);
      },
      [&]() SHARPMAX_PASS {
        tail.fold();
        moment.fold();
        square.fold();
      });
  return {beta, ties, tail.value(), moment.value(), square.value()};
}

// Gaps of the keys with scores of at least `limit` into workspace.candidates(), padded with -inf to whole
// vectors; and all scores into workspace.scores().
HWY_INLINE HWY_MAYBE_UNUSED ScoreRow collect_heaviest(const RowCall& call, float limit) {
  const FloatTag d;
  const std::size_t n = hn::Lanes(d);
  float* const to = call.workspace.candidates();
  float* const copy = call.workspace.scores();
  const Floats top = Splat(call.max), least = Splat(std::min(limit, call.max));
  std::size_t count = 0;
  walk(call.row, [&](std::size_t, const float* data, std::size_t index) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    hn::StoreU(e, d, copy + index);
    const auto keep = hn::Ge(e, least);
    hn::StoreU(hn::Compress(hn::Sub(e, top), keep), d, to + count);
    count += hn::CountTrue(d, keep);
  });
  hn::StoreU(Splat(-kInfinity), d, to + count);
  const std::size_t whole = (count + n - 1) / n * n;
  return {.data = to, .chunks = 1, .stride = whole, .lanes = whole};
}

// What is asked of a row: a function of its survey that falls through 0 at the target as beta grows.
class TemperatureTarget {
 public:
  TemperatureTarget(RuleKind kind, double target) : entropy_(kind == RuleKind::entropy_target) {
    constexpr double kMargin = 5e-7;
    if (entropy_) {
      bound_ = target * (1.0 - kMargin);
    } else {
      // The weight at the peak rounds to a float: ask for the next one that is not below the target.
      float weight = static_cast<float>(target);
      if (weight < target) weight = std::nextafter(weight, kInfinity);
      const double peak = std::min(static_cast<double>(weight), 1.0 - 0x1p-26);
      bound_ = (1.0 - peak) / peak * (1.0 - kMargin);
    }
  }

  // Whether some temperature reaches it in a row whose largest score stands `ties` times.
  bool within_reach(double ties) const { return (entropy_ ? std::log(ties) : ties - 1.0) < bound_; }

  double value(const TemperatureSurvey& s) const { return entropy_ ? s.entropy() : (s.ties - 1.0) + s.tail; }
  // Of the value by beta.
  double slope(const TemperatureSurvey& s) const { return entropy_ ? -s.beta * s.variance() : s.moment; }
  double bound() const { return bound_; }
  // Whether a few dozen keys tell nearly all about a row that has reached it.
  bool sharp() const { return bound_ < (entropy_ ? 1.2 : 0.5); }

  // From beta = 1 far away: entropy falls as beta^2 Var / 2 while many keys share the weight.
  double first_guess(const TemperatureSurvey& s) const {
    if (entropy_) return std::sqrt(s.beta * s.beta + 2.0 * (value(s) - bound_) / s.variance());
    return s.beta + value(s) * std::log(bound_ / value(s)) / slope(s);
  }

 private:
  bool entropy_;
  double bound_;
};

// Where ln value was seen, and its slope there.
struct TemperaturePoint {
  double beta = 1.0, height = 0.0, slope = 0.0;
};
HWY_INLINE HWY_MAYBE_UNUSED TemperaturePoint point_of(const TemperatureTarget& target,
                                                      const TemperatureSurvey& at) {
  const double value = target.value(at);
  return {at.beta, std::log(value / target.bound()), target.slope(at) / value};
}

// The temperature at which the cubic through two points, as a function of the height, is at `aim`.
HWY_INLINE HWY_MAYBE_UNUSED double interpolate(const TemperaturePoint& a, const TemperaturePoint& b,
                                               double aim) {
  const double width = b.height - a.height;
  const double t = (aim - a.height) / width, s = 1.0 - t;
  return s * s * ((1.0 + 2.0 * t) * a.beta + t * width / a.slope) +
         t * t * ((1.0 + 2.0 * s) * b.beta - s * width / b.slope);
}

// Accepted: ln(value / bound) within [-2, 0] of these, as near as is worth a sweep. The search aims between.
inline constexpr double kExactly = 5e-7;
inline constexpr double kRoughly = 1e-4;

// Searches the row for a temperature at which it is sharp enough, hardly more than that. `at` is not;
// infinity if there is none up to `highest`.
HWY_NOINLINE inline double search_temperature(const ScoreRow& row, float top, const TemperatureTarget& target,
                                              const TemperatureSurvey& first, double highest, double close) {
  constexpr int kMostSweeps = 200;  // bisection alone would need about 100
  double low = first.beta, high = highest;
  TemperaturePoint before = point_of(target, first), now = before;
  double next = target.first_guess(first);
  for (int i = 0; i < kMostSweeps && high - low > 4e-15 * high; ++i) {
    if (!(next > low && next < high))
      next = high > 2.0 * low ? std::sqrt(low) * std::sqrt(high) : 0.5 * (low + high);
    before = now;
    now = point_of(target, survey_at<Store::no>(row, top, first.ties, next));
    const bool sharp = now.height <= 0.0;
    (sharp ? high : low) = next;
    if (sharp && now.height >= -2.0 * close) break;
    // Two points close to the root know its curvature; far away the tangent alone is safer.
    const bool near = std::max(std::abs(now.height), std::abs(before.height)) < 2.0;
    next = near && before.height != now.height ? interpolate(before, now, -close)
                                               : now.beta - (now.height + close) / now.slope;
  }
  return high;
}

// Every largest score the same share of the weight: what an infinite temperature leaves.
HWY_INLINE HWY_MAYBE_UNUSED Weighed weigh_ties(const RowCall& call, double ties) {
  const FloatTag d;
  const Floats top = Splat(call.max), one = Splat(1.0f);
  walk(call.row, [&](std::size_t, float* data, std::size_t) SHARPMAX_PASS {
    hn::StoreU(hn::IfThenElseZero(hn::Eq(hn::LoadU(d, data), top), one), d, data);
  });
  call.out.scale = static_cast<float>(1.0 / ties);
  call.out.mass = 1.0;
  call.out.facts = {.temperature = std::numeric_limits<double>::infinity()};
  call.out.peak_weight = 1.0 / ties;
  call.out.entropy = std::log(ties);
  return Weighed::done;
}

// What a row weighed in a survey's sweep leaves.
HWY_INLINE HWY_MAYBE_UNUSED Weighed leave_weighed(const RowCall& call, const TemperatureSurvey& at) {
  const double tail = (at.ties - 1.0) + at.tail;
  call.out.scale = static_cast<float>(1.0 / at.sum());
  call.out.mass = 1.0;
  call.out.facts = {.temperature = at.beta, .log_partition = at.beta * call.max + std::log1p(tail)};
  call.out.peak_weight = 1.0 / (1.0 + tail);
  call.out.entropy = at.entropy();
  return Weighed::done;
}

// Gaps so small that their squares leave the range of float ask for more than this.
inline constexpr double kLargestTemperature = 1e15;

// The row searched as a whole, from a temperature at which it is not sharp enough.
HWY_NOINLINE inline Weighed weigh_by_full_search(const RowCall& call, const TemperatureTarget& target,
                                                 const TemperatureSurvey& at) {
  const double beta = search_temperature(call.row, call.max, target, at, kLargestTemperature, kExactly);
  if (!(beta < kLargestTemperature)) return Weighed::not_here;
  return leave_weighed(call, survey_at<Store::yes>(call.row, call.max, at.ties, beta));
}

// One Newton step from `at`, close to the root, and the sweep that weighs; `plain` is far from sharp.
HWY_INLINE HWY_MAYBE_UNUSED Weighed weigh_from_nearby(const RowCall& call, const TemperatureTarget& target,
                                                      const TemperatureSurvey& plain, TemperatureSurvey at) {
  // The step's error is of the order of its square: from here on that is below what is accepted.
  constexpr double kNear = 1e-3;
  for (int i = 0; i < 3; ++i) {
    const TemperaturePoint point = point_of(target, at);
    const double beta = point.beta - (point.height + kExactly) / point.slope;
    if (!(beta >= 1.0 && beta < kLargestTemperature)) break;
    if (std::abs(point.height) > kNear) {
      at = survey_at<Store::no>(call.row, call.max, at.ties, beta);
      continue;
    }
    const TemperatureSurvey weighed = survey_at<Store::yes>(call.row, call.max, at.ties, beta);
    const double height = std::log(target.value(weighed) / target.bound());
    if (height <= 0.0 && height >= -4.0 * kExactly) return leave_weighed(call, weighed);
    put_back(call.workspace.scores(), call.row);
    break;
  }
  return weigh_by_full_search(call, target, survey_at<Store::no>(call.row, call.max, plain.ties, 1.0));
}

HWY_NOINLINE inline Weighed weigh_to_target(const RowCall& call) {
  const TemperatureTarget target(call.rule.kind, call.rule.target);
  const ScoreRow candidates = collect_heaviest(call, target.sharp() ? call.few_above : call.some_above);
  const double ties = static_cast<double>(
      count_if(candidates, [](Floats gap) SHARPMAX_PASS { return hn::Eq(gap, hn::Zero(FloatTag())); }));
  const TemperatureSurvey heaviest = survey_at<Store::no>(candidates, 0.0f, ties, 1.0);
  if (target.value(heaviest) <= target.bound()) {  // then beta = 1 may do for the whole row
    const TemperatureSurvey plain = survey_at<Store::no>(call.row, call.max, ties, 1.0);
    if (std::isnan(plain.tail)) return Weighed::poisoned;
    if (target.value(plain) <= target.bound())
      return leave_weighed(call, survey_at<Store::yes>(call.row, call.max, ties, 1.0));
    if (!target.within_reach(ties)) return weigh_ties(call, ties);
    return weigh_by_full_search(call, target, plain);
  }
  if (!target.within_reach(ties)) return has_nan(call.row) ? Weighed::poisoned : weigh_ties(call, ties);
  const double rough = search_temperature(candidates, 0.0f, target, heaviest, kLargestTemperature, kRoughly);
  if (!(rough < kLargestTemperature)) return Weighed::not_here;
  const TemperatureSurvey at = survey_at<Store::no>(call.row, call.max, ties, rough);
  if (std::isnan(at.tail)) return Weighed::poisoned;
  return weigh_from_nearby(call, target, heaviest, at);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
