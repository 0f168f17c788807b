// How a head's sharpness goes on past the lengths that were measured, and how far such guesses were off where
// they could be checked.
//
// The guess is a damped power law: ln p = ln p(last) + damping * slope * (ln n - ln last), slope by least
// squares over the measured lengths. Damping 0 is "no change", 1 the power law. It is one number for all
// heads, chosen where the truth is known: from the shorter of the measured lengths to the longer ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

// How far forecasts from the lengths up to `from` are off at `to`: medians and 90th percentiles, over heads,
// of the factor exp|ln forecast - ln measured|.
struct ForecastErrors {
  std::int64_t from = 0, to = 0;
  std::int64_t heads = 0;  // that have values at both
  double damping = 0;      // chosen on lengths up to `from` alone
  double ours = 0, ours_90 = 0;
  double no_change = 0, no_change_90 = 0;
  double power_law = 0, power_law_90 = 0;
};
// values[head] are the medians of one head at `lengths`.
ForecastErrors check_forecast(std::span<const double> lengths, std::span<const std::vector<double>> values,
                              std::size_t from, std::size_t to);

// The damping in {0, 0.05, …, 1} whose forecasts from shorter lengths would have been off least, in the
// median over heads and over every pair of lengths at least a factor 2 apart that `lengths` allow; 0 where
// there is nothing to choose it from.
double choose_damping(std::span<const double> lengths, std::span<const std::vector<double>> values);

}  // namespace sharpmax::audit
