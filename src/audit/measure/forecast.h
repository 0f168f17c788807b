// How a head's sharpness goes on past the lengths that were measured, and how far such guesses were off where
// they could be checked.
//
// The guess is a damped power law: ln p = ln p(last) + damping * slope * (ln n - ln last), slope by least
// squares over the measured lengths. Damping 0 is "no change", 1 the power law. It is one number for all
// heads, chosen where the truth is known: from the shorter of the measured lengths to the longer ones.
#pragma once

#include <span>
#include <vector>

#include "sharpmax/audit.h"

namespace sharpmax::audit {

// One head's median at every length, ascending; NaN where there is none.
struct Curve {
  std::span<const double> lengths;
  std::span<const double> values;
};

// Of ln value against ln length; 0 for fewer than two positive values.
double power_slope(const Curve& curve);
// Of value against ln length, as for entropies; NaN for fewer than two values.
double log_slope(const Curve& curve);

double forecast(const Curve& curve, double length, double damping);

// values[head] are the medians of one head at `lengths`.
ForecastErrors check_forecast(std::span<const double> lengths, std::span<const std::vector<double>> values,
                              std::size_t from, std::size_t to);

// The damping in {0, 0.05, …, 1} whose forecasts from shorter lengths would have been off least, in the
// median over heads and over every pair of lengths at least a factor 2 apart that `lengths` allow; 0 where
// there is nothing to choose it from.
double choose_damping(std::span<const double> lengths, std::span<const std::vector<double>> values);

}  // namespace sharpmax::audit
