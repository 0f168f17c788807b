// Attempts to break a bound: uphill over inputs in the unit cube, from many starts.
#pragma once

#include <algorithm>

#include "support/random.h"

namespace sharpmax::test {

// Uphill along each coordinate in turn, each clamped to [0, 1]; a round without gain halves the step.
template <class Value>
double climb_from(Row place, const Value& value, double last_step = 1e-6) {
  double best = value(place);
  for (double step = 0.5; step > last_step;) {
    bool rose = false;
    for (double& x : place) {
      for (const double side : {-step, step}) {
        const double before = x;
        x = std::clamp(before + side, 0.0, 1.0);
        const double found = value(place);
        if (found > best) {
          best = found;
          rose = true;
        } else {
          x = before;
        }
      }
    }
    if (!rose) step *= 0.5;
  }
  return best;
}

// The best of several climbs: from random places, and from corners, where extremes like to be.
template <class Value>
double climbed(Random& random, std::size_t dimensions, const Value& value, int starts = 4,
               double last_step = 1e-6) {
  double best = -HUGE_VAL;
  for (int start = 0; start < starts; ++start) {
    Row place(dimensions);
    for (double& x : place) x = start % 2 == 0 ? random.uniform() : std::round(random.uniform());
    best = std::max(best, climb_from(place, value, last_step));
  }
  return best;
}

}  // namespace sharpmax::test
