// The least temperature that is sharp enough: entropy_target and peak_target.
//
// Two sweeps over the whole row (at beta = 1, and at a first guess) tell which keys still matter; these
// candidates, usually few, are searched by Newton's method inside a bracket. Keys left out have weights
// below exp(-cut), so what they could add to entropy or tail is bounded, and the bound is added to what
// the candidates give before it is compared with the target: the temperature found is on the sharp side
// for the whole row. Sums are good to a few 1e-7; the target is drawn in by kMargin so that the weights
// still keep it after rounding to float.
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

#include "attention/rows/call.h"
#include "attention/rows/exponential-inl.h"
#include "attention/rows/math-inl.h"
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
HWY_NOINLINE inline TemperatureSurvey survey_at(const ScoreRow& row, float top, double ties, double beta) {
  const FloatTag d;
  const Exponential exponential(beta);
  const Floats largest_score = Splat(top), zero = hn::Zero(d);
  const Floats lowest = Splat(std::numeric_limits<float>::lowest());
  RowSum tail, moment, square;
  walk(
      row,
      [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
        const Floats gap = hn::Sub(hn::LoadU(d, data), largest_score);
        const Floats weight = exponential(gap);
        const Floats finite_gap = hn::Max(lowest, gap);
        const Floats product = hn::Mul(weight, finite_gap);
        tail.add(k, hn::IfThenZeroElse(hn::Eq(gap, zero), weight));
        moment.add(k, product);
        square.add_product(k, product, finite_gap);
      },
      [&]() SHARPMAX_PASS {
        tail.fold();
        moment.fold();
        square.fold();
      });
  return {beta, ties, tail.value(), moment.value(), square.value()};
}

// Gaps of the keys with beta * gap > -cut into workspace.candidates(), padded with -inf to whole vectors.
HWY_INLINE HWY_MAYBE_UNUSED ScoreRow collect_near(const RowCall& call, double beta, double cut) {
  const FloatTag d;
  const std::size_t n = hn::Lanes(d);
  float* const to = call.workspace.candidates();
  const Floats top = Splat(call.max);
  const Floats limit = Splat(static_cast<float>(-cut / beta));
  std::size_t count = 0;
  walk(call.row, [&](std::size_t, const float* data, std::size_t) SHARPMAX_PASS {
    const Floats gap = hn::Sub(hn::LoadU(d, data), top);
    const auto keep = hn::Ge(gap, limit);
    hn::StoreU(hn::Compress(gap, keep), d, to + count);
    count += hn::CountTrue(d, keep);
  });
  hn::StoreU(Splat(-kInfinity), d, to + count);
  const std::size_t whole = (count + n - 1) / n * n;
  return {.data = to, .chunks = whole > 0 ? std::size_t{1} : 0, .stride = whole, .lanes = whole};
}

// What is asked of a row: a function of its survey that falls through 0 at the target as beta grows.
class TemperatureTarget {
 public:
  TemperatureTarget(RuleKind kind, double target) : entropy_(kind == RuleKind::entropy_target) {
    constexpr double kMargin = 1e-6;
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
  // Of ln value by beta.
  double slope(const TemperatureSurvey& s) const {
    return (entropy_ ? -s.beta * s.variance() : s.moment) / value(s);
  }
  double bound() const { return bound_; }

  // From beta = 1 far away: entropy falls as beta^2 Var / 2 while many keys share the weight.
  double first_guess(const TemperatureSurvey& s) const {
    if (entropy_) return std::sqrt(s.beta * s.beta + 2.0 * (value(s) - bound_) / s.variance());
    return s.beta + std::log(bound_ / value(s)) / slope(s);
  }
  // Keys left out, n of them with beta * gap < -x, add at most n (1 + x) exp(-x) to either value.
  double cut(double keys) const {
    const double allowed = 1e-8 * bound_;
    double x = std::log(keys / allowed);
    for (int i = 0; i < 3; ++i) x = std::log(keys * (1.0 + x) / allowed);
    return std::max(x, 2.0);
  }

 private:
  bool entropy_;
  double bound_;
};

// Newton's method on ln value inside (low, high): low is not sharp enough, high is or is infinite.
HWY_NOINLINE inline double search_temperature(const ScoreRow& candidates, const TemperatureTarget& target,
                                                        TemperatureSurvey at, double sharpest) {
  constexpr double kClose = 1e-6;    // of the target: as near to it as is worth a sweep
  constexpr int kMostSweeps = 200;   // bisection alone would need about 100
  double low = 1.0, high = sharpest;
  for (int i = 0; i < kMostSweeps; ++i) {
    const double value = target.value(at);
    const bool sharp = value <= target.bound();
    (sharp ? high : low) = at.beta;
    if (sharp && value >= target.bound() * (1.0 - 2.0 * kClose)) break;
    if (!(high - low > 4e-15 * high)) break;
    // Aim at the middle of what is accepted, so that the last step lands on the sharp side.
    const double aim = std::log(target.bound() * (1.0 - kClose) / value);
    double next = at.beta + aim / target.slope(at);
    if (!(next > low && next < high)) {
      next = high > 2.0 * low ? std::sqrt(low) * std::sqrt(high) : 0.5 * (low + high);
    }
    at = survey_at(candidates, 0.0f, at.ties, next);
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

HWY_NOINLINE inline Weighed weigh_to_target(const RowCall& call) {
  const TemperatureTarget target(call.rule.kind, call.rule.target);
  const Floats top = Splat(call.max);
  const double ties =
      static_cast<double>(count_if(call.row, [&](Floats e) SHARPMAX_PASS { return hn::Eq(e, top); }));
  TemperatureSurvey at = survey_at(call.row, call.max, ties, 1.0);
  if (std::isnan(at.tail)) return Weighed::poisoned;
  double beta = 1.0;
  if (!(target.value(at) <= target.bound())) {
    if (!target.within_reach(ties)) return weigh_ties(call, ties);
    // Gaps so small that their squares leave the range of float.
    constexpr double kLargestTemperature = 1e15;
    const double guess = target.first_guess(at);
    if (!(guess < kLargestTemperature)) return Weighed::not_here;
    at = survey_at(call.row, call.max, ties, guess);
    const bool sharp = target.value(at) <= target.bound();
    // A guess that is too sharp says nothing of lower temperatures: then every key is a candidate.
    const double cut = sharp ? std::numeric_limits<double>::infinity() : target.cut(call.keys);
    const ScoreRow candidates = collect_near(call, guess, cut);
    beta = search_temperature(candidates, target, at, kLargestTemperature);
    if (!(beta < kLargestTemperature)) return Weighed::not_here;
  }
  return weigh_exponential(call, beta) ? Weighed::done : Weighed::poisoned;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
