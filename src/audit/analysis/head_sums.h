// What was measured of one head, summed over rows; and the means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audit/analysis/row_separability.h"
#include "audit/analysis/settings.h"
#include "audit/measure/head_kind.h"

namespace sharpmax::audit {

// Sums over some rows of one head.
struct RowSums {
  std::vector<Distances> distances;         // [top of plan.distances]
  std::vector<std::int64_t> distance_rows;  // [top] rows that leave a key out
  std::vector<Separability> separability;   // [top of plan.separability_tops]
  std::vector<std::int64_t> separability_rows;
  std::vector<double> gradient;  // [temperature, step]
  std::int64_t gradient_rows = 0;

  explicit RowSums(const RowPlan& plan);
  RowSums& operator+=(const RowSums& other);
};

// All rows of a head.
struct HeadSums {
  HeadPlace place;
  std::vector<RowSums> by_length;  // [length of the plan] rows below it
  RowSums common;                  // rows from plan.common_from on

  HeadSums(const HeadPlace& at, const RowPlan& plan);
};

// A run of rows, cut so that no length of the plan falls within.
struct Piece {
  std::int64_t first = 0, rows = 0;
};
std::vector<Piece> pieces_of(const RowPlan& plan);

// Adds what pieces gave, in their order: [piece], as pieces_of() cuts.
void add_pieces(const RowPlan& plan, std::span<const Piece> pieces, std::span<const RowSums> sums,
                HeadSums& head);

// The mean over the rows that there were; NaN of none.
Distances mean_distance(const RowSums& sums, std::size_t top);
Separability mean_separability(const RowSums& sums, std::size_t top);
double mean_gradient(const RowSums& sums, std::size_t at);

}  // namespace sharpmax::audit
