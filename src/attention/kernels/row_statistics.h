// Between what a row leaves behind (RowOutcome) and the caller's views (RowStatistics).
#pragma once

#include <cstdint>
#include <vector>

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

// Column mass and the downsampled map of one (batch, query head), filled row by row. The rows of a
// head come in order and from one thread, so the sums do not depend on how many threads there are.
class ColumnStatistics {
 public:
  static bool wanted(const RowStatistics* statistics) noexcept {
    return statistics != nullptr && (statistics->column_mass.present() || statistics->map.present());
  }
  ColumnStatistics(const RowStatistics& statistics, std::int64_t queries, std::int64_t keys)
      : statistics_(statistics), queries_(queries), keys_(keys), sums_(static_cast<std::size_t>(keys), 0.0) {}

  // The row's weights (scale * what it holds), first_key absolute; keys past `keys` are ignored.
  void add(std::int64_t batch, std::int64_t head, std::int64_t query, std::int64_t first_key,
           const ScoreRow& weights, float scale);
  // Writes what has been gathered; call after the last row.
  void flush();

 private:
  std::int64_t map_row(std::int64_t query) const noexcept;

  const RowStatistics& statistics_;
  std::int64_t queries_, keys_;
  std::vector<double> sums_;  // of the current map row
  std::int64_t batch_ = -1, head_ = -1, row_ = -1;
  std::int64_t touched_begin_ = 0, touched_end_ = 0;
};

// Sets column mass and map to zero.
void clear_columns(const RowStatistics& statistics);

}  // namespace sharpmax
