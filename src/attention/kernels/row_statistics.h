// Between what a row leaves behind (RowOutcome) and the caller's views (RowStatistics).
#pragma once

#include <cstdint>

#include "attention/rows/row.h"
#include "sharpmax/statistics.h"

namespace sharpmax {

// Which by-products these statistics need of every row. Null: none.
RowWishes wishes_of(const RowStatistics* statistics);

// Whether they can be had without keeping a whole row of scores.
bool fits_streaming(const RowStatistics* statistics);

// Writes one row to its place.
void write_row(const RowStatistics& statistics, std::int64_t batch, std::int64_t head, std::int64_t query,
               const RowOutcome& outcome);

// What a row without keys leaves behind, but for its arrays: they stay where they point, emptied.
void empty_outcome(const RowWishes& wishes, RowOutcome& outcome);

}  // namespace sharpmax
