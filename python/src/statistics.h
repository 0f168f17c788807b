// Requested statistics, by name, as arrays to be filled: {"entropy": array, ...}, and the gaps to count.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "arrays.h"
#include "sharpmax/statistics.h"

namespace sharpmax::python {

class HeldStatistics {
 public:
  HeldStatistics(const nb::dict& wanted, std::vector<double> gaps);
  HeldStatistics(const HeldStatistics&) = delete;
  HeldStatistics& operator=(const HeldStatistics&) = delete;

  const RowStatistics* view() const noexcept { return arrays_.empty() ? nullptr : &view_; }
  const std::deque<OutputArray>& arrays() const noexcept { return arrays_; }
  // Those with a number or more for every query.
  const std::deque<OutputArray>& arrays_of_rows() const noexcept { return arrays_of_rows_; }

 private:
  void assign(std::string_view name, const OutputArray& array);

  std::deque<OutputArray> arrays_, arrays_of_rows_;
  std::vector<double> gaps_;
  RowStatistics view_;
};

// Of arrays [layer, head, query, ...]: the part that one call of attend() fills, [1, heads, queries, ...].
// Column mass and maps sum over queries, so theirs is of all queries.
struct RowPart {
  std::int64_t layer = 0, first_head = 0, heads = 0, first_query = 0, queries = 0;
};
RowStatistics part_of(const RowStatistics& whole, const RowPart& part);

}  // namespace sharpmax::python
