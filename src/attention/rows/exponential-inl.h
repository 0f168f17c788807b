// Rows weighed by exp(beta (e - m)): the sweep every rule of the softmax family ends in.
#if defined(SHARPMAX_ROWS_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SHARPMAX_ROWS_EXPONENTIAL_INL_H_
#undef SHARPMAX_ROWS_EXPONENTIAL_INL_H_
#else
#define SHARPMAX_ROWS_EXPONENTIAL_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "attention/rows/math-inl.h"
#include "attention/rows/row.h"
#include "attention/rows/scan-inl.h"
#include "attention/rows/walk-inl.h"

HWY_BEFORE_NAMESPACE();
namespace sharpmax {
namespace HWY_NAMESPACE {

// Over the keys of a row, d = e - m: of exp(beta d), and of exp(beta d) d.
struct ExponentialSums {
  double sum = 0.0;
  double moment = 0.0;
};

enum class Moment { no, yes };
enum class Store { no, yes, kept };  // kept: what is stored over goes elsewhere

template <Moment kMoment, Store kStore>
HWY_NOINLINE inline ExponentialSums sweep(const ScoreRow& row, float max, double beta) {
  const FloatTag d;
  const Exponential exponential(beta);
  const Floats top = Splat(max);
  const Floats lowest = Splat(std::numeric_limits<float>::lowest());
  RowSum sum, moment;
  walk(
      row,
      [&](std::size_t k, float* data, std::size_t) SHARPMAX_PASS {
        const Floats gap = hn::Sub(hn::LoadU(d, data), top);
        const Floats weight = exponential(gap);
        sum.add(k, weight);
        // A masked key has weight 0 and gap -inf: their product must be 0.
        if constexpr (kMoment == Moment::yes) moment.add_product(k, weight, hn::Max(lowest, gap));
        if constexpr (kStore == Store::yes) hn::StoreU(weight, d, data);
      },
      [&]() SHARPMAX_PASS {
        sum.fold();
        if constexpr (kMoment == Moment::yes) moment.fold();
      });
  return {sum.value(), moment.value()};
}

// sum - 1 over unnormalised weights whose largest is 1. Of a sharp row the sum has lost the tail's
// digits, so it is summed once more without the largest; below 1.5 there is only one such.
HWY_INLINE HWY_MAYBE_UNUSED double tail_of(const ScoreRow& weights, double sum) {
  constexpr double kSharp = 1.5;
  if (!(sum < kSharp)) return sum - 1.0;
  const FloatTag d;
  const Floats one = Splat(1.0f);
  RowSum tail;
  walk(
      weights,
      [&](std::size_t k, const float* data, std::size_t) SHARPMAX_PASS {
        const Floats w = hn::LoadU(d, data);
        tail.add(k, hn::IfThenZeroElse(hn::Eq(w, one), w));
      },
      [&]() SHARPMAX_PASS { tail.fold(); });
  return tail.value();
}

// Weighs the row at beta and says what that left. False if a score was NaN.
HWY_NOINLINE inline bool weigh_exponential(const RowCall& call, double beta) {
  const bool entropy = call.wishes.entropy;
  const double max = call.max;
  const ExponentialSums sums = entropy ? sweep<Moment::yes, Store::yes>(call.row, call.max, beta)
                                       : sweep<Moment::no, Store::yes>(call.row, call.max, beta);
  if (std::isnan(sums.sum)) return false;
  const double sink = call.rule.sink == 0.0 ? 0.0 : call.rule.sink * std::exp(-beta * max);
  const double tail = entropy ? tail_of(call.row, sums.sum) : sums.sum - 1.0;
  RowOutcome& out = call.out;
  out.survey = {.max = beta * max, .tail = tail, .moment = beta * sums.moment};
  out.scale = static_cast<float>(1.0 / (sums.sum + sink));
  if (out.scale < std::numeric_limits<float>::min()) {  // the sink takes all that float can tell
    out.scale = 0.0f;
    fill(call.row, 0.0f);
    out.peak_key = -1;
    out.facts = {.temperature = beta, .log_partition = beta * max + std::log1p(tail)};
    return true;
  }
  out.mass = sink == 0.0 ? 1.0 : sums.sum / (sums.sum + sink);
  out.facts = {.temperature = beta, .log_partition = beta * max + std::log1p(tail)};
  out.peak_weight = 1.0 / (1.0 + tail);
  if (entropy) out.entropy = std::log1p(tail) - beta * sums.moment / (1.0 + tail);
  return true;
}

HWY_NOINLINE inline Weighed weigh_surveyed(const RowCall& call) {
  const ExponentialSums sums = sweep<Moment::yes, Store::no>(call.row, call.max, 1.0);
  if (std::isnan(sums.sum)) return Weighed::poisoned;
  const Survey survey{.max = call.max, .tail = sums.sum - 1.0, .moment = sums.moment};
  const HeadParameters parameters(call.task.normalizer->parameters(), call.task.head);
  return weigh_exponential(call, call.rule.temperature(parameters, survey)) ? Weighed::done
                                                                            : Weighed::poisoned;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace sharpmax
HWY_AFTER_NAMESPACE();
#endif
