// Rows of one head at one length, in a few numbers.
#pragma once

#include <span>
#include <vector>

#include "audit/measure/row_fields.h"

namespace sharpmax::audit {

// Tokens of a run, over which intervals of medians are made: rows of SmolLM2 that far apart are independent (docs/reference/audit.md).
inline constexpr std::int64_t kRowsRunLength = 8;

// Of the same length in every excerpt that was read so far; without peak_bound.
HeadSummary summarise(std::span<const KeptRows* const> excerpts, std::int64_t heads, std::int64_t layer,
                      std::int64_t head);

// Of the values that are not NaN, the one at `share` of the order, between neighbours by straight lines; NaN
// of none. Reorders.
double quantile(std::span<double> values, double share);

}  // namespace sharpmax::audit
