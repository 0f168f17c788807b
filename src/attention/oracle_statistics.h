// What the oracle records of a row, straight from the definitions in sharpmax/statistics.h.
//
// A poisoned row records NaN; where only whole numbers can stand it has no keys (key -1, counts 0).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/elements.h"
#include "attention/segments.h"
#include "normalizer/definition.h"
#include "sharpmax/statistics.h"

namespace sharpmax::oracle {

// One row after it was weighed. Element i of scores and weights is key keys.begin + i.
struct WeighedRow {
  KeyRange keys;
  std::span<const double> scores;  // -inf: masked
  std::span<const double> weights;
  RowFacts facts;
};

// Sets what is summed over rows (column_mass, map) to zero for one head.
void clear_sums(const RowStatistics& statistics, std::int64_t batch, std::int64_t head);

// `queries` x `keys` is the size of the whole head: what the map is a picture of. `order` is scratch
// of at least weights.size().
struct HeadSize {
  std::int64_t queries = 0, keys = 0;
};
void record_row(const RowStatistics& statistics, const RowIndex& at, const HeadSize& size,
                const WeighedRow& row, std::span<std::size_t> order);

// True when at least one view is present.
bool wants_anything(const RowStatistics& statistics);

}  // namespace sharpmax::oracle
