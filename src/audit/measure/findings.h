// From kept rows to findings: medians by length, the kind of every head, forecasts past the measured lengths.
#pragma once

#include <span>
#include <vector>

#include "audit/measure/reading.h"
#include "sharpmax/audit.h"

namespace sharpmax::audit {

// How a head's sharpness goes on past the lengths that were measured, and how far such guesses were off where
// they could be checked.
//
// The guess is a damped power law: ln p = ln p(last) + damping * slope * (ln n - ln last), slope by least
// squares over the measured lengths. Damping 0 is "no change", 1 the power law. It is one number for all
// heads, chosen where the truth is known: from the shorter of the measured lengths to the longer ones.

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

// The rule by which the kind of a head is decided.

HeadKind kind_of(const KindSigns& signs, const Thresholds& thresholds);

// Rows of one head at one length, in a few numbers.

// Tokens of a run, over which intervals of medians are made: rows of SmolLM2 that far apart are independent (docs/reference/audit.md).
inline constexpr std::int64_t kRowsRunLength = 8;

// Of the same length in every excerpt that was read so far; without peak_bound.
HeadSummary summarise(std::span<const KeptRows* const> excerpts, std::int64_t heads, std::int64_t layer,
                      std::int64_t head);

// Of the values that are not NaN, the one at `share` of the order, between neighbours by straight lines; NaN
// of none. Reorders.
double quantile(std::span<double> values, double share);

// Findings from kept rows: the kind of every head, how it changes with length, where it goes blunt.

// Of the lengths that every excerpt was read to; kinds are those at the longest within the trained length, or
// at the shortest if none is. softmax: every head runs under it, which peak_bound holds for. Error{bad_argument} if there is
// no such length.
Findings find(const ReadingPlan& plan, const Readings& readings, const model::Configuration& configuration,
              const Thresholds& thresholds, bool softmax = true);

}  // namespace sharpmax::audit
