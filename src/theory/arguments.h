// What bounds share: the checks of their arguments, and searches over one number.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "sharpmax/error.h"

namespace sharpmax::theory {

// What the bounds take and what they refuse: every check has one wording.

// What a number must be, in words and as a predicate of a finite number.
struct Domain {
  std::string_view words;
  bool (*contains)(double);
};

inline constexpr Domain kAnyNumber{"finite", [](double) { return true; }};
inline constexpr Domain kNotNegative{"0 or more, and finite", [](double x) { return x >= 0.0; }};
inline constexpr Domain kPositive{"above 0, and finite", [](double x) { return x > 0.0; }};
inline constexpr Domain kAtLeastOne{"1 or more, and finite", [](double x) { return x >= 1.0; }};
inline constexpr Domain kShare{"above 0 and below 1", [](double x) { return x > 0.0 && x < 1.0; }};

// Throws Error{bad_argument} unless the value is finite and in the domain; NaN never is.
inline void require(std::string_view name, double value, const Domain& domain) {
  if (!std::isfinite(value) || !domain.contains(value))
    throw Error(ErrorCode::bad_argument, fmt::format("{} is {}; it must be {}", name, value, domain.words));
}

// Sums to one are checked this loosely, so that weights computed in float pass.
inline constexpr double kSumTolerance = 1e-6;

// None negative, none missing, sum one.
inline void require_distribution(std::span<const double> weights) {
  double sum = 0.0;
  for (const double w : weights) {
    require("a weight", w, kNotNegative);
    sum += w;
  }
  if (!(std::abs(sum - 1.0) <= kSumTolerance))
    throw Error(ErrorCode::bad_argument, fmt::format("the weights sum to {}; they must sum to 1", sum));
}

inline void require_counts(std::string_view what, std::size_t found, std::string_view other,
                           std::size_t wanted) {
  if (found != wanted)
    throw Error(ErrorCode::bad_argument,
                fmt::format("{} has {} entries; {} asks for {}", what, found, other, wanted));
}

// Numerical searches: the largest value over the unit cube, and the root of a falling function.

// A search for the largest value of a function over the unit cube: a grid with both ends, then uphill.
template <std::size_t Dimensions>
struct Best {
  std::array<double, Dimensions> at{};
  double value = -HUGE_VAL;
};

// `steps` between the two ends of each coordinate.
template <std::size_t Dimensions, class Value>
Best<Dimensions> best_of_grid(const std::array<int, Dimensions>& steps, const Value& value) {
  Best<Dimensions> best;
  std::array<int, Dimensions> index{};
  for (std::size_t k = 0; k < Dimensions;) {
    std::array<double, Dimensions> at{};
    for (std::size_t i = 0; i < Dimensions; ++i) at[i] = static_cast<double>(index[i]) / steps[i];
    const double found = value(at);
    if (found > best.value) best = {at, found};
    for (k = 0; k < Dimensions && ++index[k] > steps[k]; ++k) index[k] = 0;  // as an odometer
  }
  return best;
}

// Uphill along each coordinate in turn; a round that finds nothing halves the step.
template <std::size_t Dimensions, class Value>
Best<Dimensions> climbed(Best<Dimensions> best, const Value& value, double last_step) {
  for (double step = 0.125; step > last_step;) {
    bool rose = false;
    for (std::size_t k = 0; k < Dimensions; ++k) {
      for (const double side : {-step, step}) {
        auto moved = best.at;
        moved[k] = std::clamp(moved[k] + side, 0.0, 1.0);
        const double found = value(moved);
        if (found > best.value) best = {moved, found}, rose = true;
      }
    }
    if (!rose) step *= 0.5;
  }
  return best;
}

// A group of none to all of the others, on a logarithmic scale.
inline double group_size(double place, double others) {
  return std::clamp(std::round(std::expm1(place * std::log1p(others))), 0.0, others);
}

// The root of a function that falls through 0 in an interval, to the last bit, by bisection: bounds are
// computed once, so certainty is worth more than speed.

// The least double at which value(x) <= 0 was found; `high` if there is none below it.
template <class Value>
double falling_root(double low, double high, const Value& value) {
  if (value(low) <= 0.0) return low;
  for (;;) {
    const double middle = low + 0.5 * (high - low);
    if (!(middle > low && middle < high)) return high;
    (value(middle) > 0.0 ? low : high) = middle;
  }
}

}  // namespace sharpmax::theory
