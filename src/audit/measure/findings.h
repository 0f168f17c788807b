// The rule by which the kind of a head is decided.
#pragma once

#include <span>
#include <vector>

#include "audit/measure/forecast.h"
#include "audit/measure/reading.h"
#include "audit/measure/row_watch.h"
#include "sharpmax/audit.h"

namespace sharpmax::audit {

HeadKind kind_of(const KindSigns& signs, const Thresholds& thresholds);

// Rows of one head at one length, in a few numbers.

// Tokens of a run, over which intervals of medians are made: rows of SmolLM2 that far apart are independent (docs/audit.md).
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
