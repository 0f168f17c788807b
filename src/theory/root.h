// The root of a function that falls through 0 in an interval, to the last bit, by bisection: bounds are
// computed once, so certainty is worth more than speed.
#pragma once

namespace sharpmax::theory {

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
