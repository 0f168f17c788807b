// A Survey is what one pass over a row of scores must remember about its softmax.
//
// Surveys form a commutative monoid: Survey{} is the identity and merge() joins the
// surveys of two disjoint parts of a row. So a row may be split over lanes, tiles,
// threads or machines and joined in any order. merge() is exactly commutative; rounding
// costs associativity at most 32 eps (tests/laws/survey_laws.cc prints the worst).
//
// Domain: scores are finite, or -inf for a masked key. Any other makes every answer NaN.
#pragma once

#include <cmath>
#include <limits>
#include <utility>

namespace sharpmax {

struct Survey {
  double max = -std::numeric_limits<double>::infinity();
  double tail = 0.0;    // of exp(score - max) over every key but the largest
  double moment = 0.0;  // of exp(score - max) * (score - max); never positive

  // True when every key was masked: there is no distribution.
  bool empty() const noexcept { return max == -std::numeric_limits<double>::infinity(); }
  double log_partition() const noexcept { return max + std::log1p(tail); }
  double peak_weight() const noexcept { return 1.0 / (1.0 + tail); }

  // In nats. We keep the tail, not the sum 1 + tail, because a sharp row has a tail
  // below eps: log(1 + tail) would round it away; log1p(tail) keeps every digit.
  double entropy() const noexcept { return std::log1p(tail) - moment / (1.0 + tail); }
};

inline Survey survey_of(double score) noexcept {
  if (score == -std::numeric_limits<double>::infinity()) return {};
  return {.max = score, .tail = score - score, .moment = 0.0};  // tail: 0, or NaN
}

inline Survey merge(Survey high, Survey low) noexcept {
  if (high.empty()) return low;  // so we never compute (-inf) - (-inf)
  if (low.empty()) return high;
  if (high.max < low.max) std::swap(high, low);
  const double shift = low.max - high.max;
  const double scale = std::exp(shift);
  return {.max = high.max,
          .tail = (high.tail + scale * low.tail) + scale,  // this order: exact for ties
          .moment = high.moment + scale * (low.moment + shift * (1.0 + low.tail))};
}

}  // namespace sharpmax
