// The least temperature that is sharp enough: entropy_target and peak_target.
//
// A row's entropy and tail only grow when lighter keys are added (a key lighter than all k others has
// p <= 1 / (k + 1), so it adds p ln(1/p) >= p ln k, more than it takes away). So the root over the heaviest
// keys alone, the candidates, is a lower bound of the row's, and nearly the row's own. It costs little to
// find; one sweep over the whole row at that temperature and one step of Halley's from there lead to the
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
  double cube = 0.0;    // sum of exp(beta g) g^3

  double sum() const { return ties + tail; }
  double entropy() const { return std::log1p((ties - 1.0) + tail) - beta * moment / sum(); }
  double variance() const {  // of the scores under the weights
    const double mean = moment / sum();
    return square / sum() - mean * mean;
  }
  double third_moment() const {  // about their mean
    const double mean = moment / sum();
    return cube / sum() - mean * (3.0 * square / sum() - 2.0 * mean * mean);
  }
};

// The row is scores with top = m, or candidates, which are gaps already, with top = 0. `copy`: what was stored over.
template <Store kStore>
HWY_NOINLINE inline TemperatureSurvey survey_at(const ScoreRow& row, float top, double ties, double beta,
                                                float* copy = nullptr) {
  const FloatTag d;
  const Exponential exponential(beta);
  const Floats largest_score = Splat(top), zero = hn::Zero(d);
  const Floats lowest = Splat(std::numeric_limits<float>::lowest());
  RowSum tail, moment, square, cube;
  walk(
      row,
      [&](std::size_t k, float* data, std::size_t index) SHARPMAX_PASS {
        const Floats score = hn::LoadU(d, data);
        const Floats gap = hn::Sub(score, largest_score);
        const Floats weight = exponential(gap);
        if constexpr (kStore == Store::yes) hn::StoreU(weight, d, data);
        if constexpr (kStore == Store::kept) {
          hn::StoreU(score, d, copy + index);
          hn::StoreU(weight, d, data);
        }
        const Floats finite_gap = hn::Max(lowest, gap);
        const Floats product = hn::Mul(weight, finite_gap);
        tail.add(k, hn::IfThenZeroElse(hn::Eq(gap, zero), weight));
        moment.add(k, product);
        if constexpr (kStore == Store::no) {
          const Floats twice = hn::Mul(product, finite_gap);
          square.add(k, twice);
          cube.add_product(k, twice, finite_gap);
        }
      },
      [&]() SHARPMAX_PASS {
        tail.fold();
        moment.fold();
        if constexpr (kStore == Store::no) {
          square.fold();
          cube.fold();
        }
      });
  if constexpr (kStore != Store::no) return {beta, ties, tail.value(), moment.value()};
  return {beta, ties, tail.value(), moment.value(), square.value(), cube.value()};
}

// Gaps of the keys with scores of at least `limit` to `to`, padded with -inf to whole vectors, and how many. At most
// `most` and a vector are written; a larger count says that there are more.
HWY_INLINE HWY_MAYBE_UNUSED std::size_t collect_heaviest(const ScoreRow& row, float max, float limit, std::size_t most,
                                                         float* to) {
  const FloatTag d;
  const Floats top = Splat(max), least = Splat(std::min(limit, max));
  std::size_t count = 0;
  walk(row, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats e = hn::LoadU(d, data);
    const auto keep = hn::Ge(e, least);
    hn::StoreU(hn::Compress(hn::Sub(e, top), keep), d, to + std::min(count, most));
    count += hn::CountTrue(d, keep);
  });
  hn::StoreU(Splat(-kInfinity), d, to + std::min(count, most));
  return count;
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
  // Of the slope by beta.
  double bend(const TemperatureSurvey& s) const {
    return entropy_ ? -s.variance() - s.beta * s.third_moment() : s.square;
  }
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

// Where ln value was seen, and its slope there and how that changes.
struct TemperaturePoint {
  double beta = 1.0, height = 0.0, slope = 0.0, bend = 0.0;

  // The root nearby, by Halley's step.
  double step_to(double aim) const {
    const double over = height - aim;
    return beta - over / (slope - 0.5 * over * bend / slope);
  }
};
HWY_INLINE HWY_MAYBE_UNUSED TemperaturePoint point_of(const TemperatureTarget& target,
                                                      const TemperatureSurvey& at) {
  const double value = target.value(at);
  const double slope = target.slope(at) / value;
  return {at.beta, std::log(value / target.bound()), slope, target.bend(at) / value - slope * slope};
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

// What is known of a row before its keys are weighed.
struct TargetStart {
  enum class Kind {
    unknown,
    sharp,         // as far as the candidates tell, at beta = 1 already
    out_of_reach,  // too many keys share the largest score
    nearby,        // `at` is a survey of the row close to the target
    not_here,
  };
  Kind kind = Kind::unknown;
  double ties = 0.0;
  double rough = 0.0;  // the temperature of `at`
  TemperatureSurvey at;
  TemperaturePoint point;  // of `at`

  void look(const ScoreRow& row, float max) { at = survey_at<Store::no>(row, max, ties, rough); }
};

// The same of a row with more candidates than a group keeps (temperature_group-inl.h).
HWY_NOINLINE inline TargetStart start_alone(const RowCall& call, const TemperatureTarget& target) {
  float* const data = call.workspace.candidates();
  const std::size_t n = hn::Lanes(FloatTag());
  const std::size_t count = collect_heaviest(call.row, call.max, target.sharp() ? call.few_above : call.some_above,
                                             call.size(), data);
  const std::size_t whole = (count + n - 1) / n * n;
  const ScoreRow candidates{.data = data, .chunks = 1, .stride = whole, .lanes = whole};
  TargetStart start;
  start.ties = static_cast<double>(
      count_if(candidates, [](Floats gap) SHARPMAX_PASS { return hn::Eq(gap, hn::Zero(FloatTag())); }));
  const TemperatureSurvey heaviest = survey_at<Store::no>(candidates, 0.0f, start.ties, 1.0);
  if (target.value(heaviest) <= target.bound()) {
    start.kind = TargetStart::Kind::sharp;
  } else if (!target.within_reach(start.ties)) {
    start.kind = TargetStart::Kind::out_of_reach;
  } else {
    start.rough = search_temperature(candidates, 0.0f, target, heaviest, kLargestTemperature, kRoughly);
    start.kind = start.rough < kLargestTemperature ? TargetStart::Kind::nearby : TargetStart::Kind::not_here;
    if (start.kind == TargetStart::Kind::not_here) return start;
    start.look(call.row, call.max);
    start.point = point_of(target, start.at);
  }
  return start;
}

// beta = 1, should it do for the whole row.
HWY_INLINE HWY_MAYBE_UNUSED Weighed weigh_from_one(const RowCall& call, const TemperatureTarget& target, double ties) {
  const TemperatureSurvey plain = survey_at<Store::no>(call.row, call.max, ties, 1.0);
  if (std::isnan(plain.tail)) return Weighed::poisoned;
  if (target.value(plain) <= target.bound())
    return leave_weighed(call, survey_at<Store::yes>(call.row, call.max, ties, 1.0));
  if (!target.within_reach(ties)) return weigh_ties(call, ties);
  return weigh_by_full_search(call, target, plain);
}

// One step from a survey close to the root, and the sweep that weighs.
HWY_INLINE HWY_MAYBE_UNUSED Weighed weigh_from_nearby(const RowCall& call, const TemperatureTarget& target,
                                                      const TargetStart& start) {
  // The step's error is of the order of the cube of the height: from here on that is below what is accepted.
  constexpr double kNear = 8e-3;
  TemperaturePoint point = start.point;
  for (int i = 0; i < 3; ++i) {
    const double beta = point.step_to(-kExactly);
    if (!(beta >= 1.0 && beta < kLargestTemperature)) break;
    if (std::abs(point.height) > kNear) {
      point = point_of(target, survey_at<Store::no>(call.row, call.max, start.ties, beta));
      continue;
    }
    float* const scores = call.workspace.scores();
    const TemperatureSurvey weighed = survey_at<Store::kept>(call.row, call.max, start.ties, beta, scores);
    const double height = std::log(target.value(weighed) / target.bound());
    if (height <= 0.0 && height >= -4.0 * kExactly) return leave_weighed(call, weighed);
    put_back(scores, call.row);
    break;
  }
  return weigh_from_one(call, target, start.ties);
}

HWY_NOINLINE inline Weighed weigh_to_target(const RowCall& call, const TargetStart& known) {
  const TemperatureTarget target(call.rule.kind, call.rule.target);
  const TargetStart start = known.kind == TargetStart::Kind::unknown ? start_alone(call, target) : known;
  switch (start.kind) {
    case TargetStart::Kind::sharp:
      return weigh_from_one(call, target, start.ties);
    case TargetStart::Kind::out_of_reach:
      return has_nan(call.row) ? Weighed::poisoned : weigh_ties(call, start.ties);
    case TargetStart::Kind::nearby:
      return std::isnan(start.at.tail) ? Weighed::poisoned : weigh_from_nearby(call, target, start);
    default:
      return Weighed::not_here;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
