// Numerical searches: the largest value over the unit cube, and the root of a falling function.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

namespace sharpmax::theory {

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
