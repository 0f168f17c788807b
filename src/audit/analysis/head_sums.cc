#include "audit/analysis/head_sums.h"

#include <algorithm>
#include <set>

#include "base/numbers.h"

namespace sharpmax::audit {
namespace {

// Rows whose scores and products come from one matrix product: enough for it to be fast, few enough that a
// task stays in the cache and two threads end at about the same time.
constexpr std::int64_t kPieceRows = 32;

double divisor(std::int64_t rows) { return rows > 0 ? static_cast<double>(rows) : kNaN; }

}  // namespace

RowSums::RowSums(const RowPlan& plan)
    : distances(plan.distances.tops.size()),
      distance_rows(plan.distances.tops.size()),
      separability(plan.separability_tops.size()),
      separability_rows(plan.separability_tops.size()),
      gradient(plan.gradient.temperatures.size() * plan.gradient.steps.size()) {}

RowSums& RowSums::operator+=(const RowSums& other) {
  for (std::size_t i = 0; i < distances.size(); ++i) {
    distances[i] += other.distances[i];
    distance_rows[i] += other.distance_rows[i];
  }
  for (std::size_t i = 0; i < separability.size(); ++i) {
    separability[i].share += other.separability[i].share;
    separability[i].bound += other.separability[i].bound;
    separability[i].counted += other.separability[i].counted;
    separability_rows[i] += other.separability_rows[i];
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += other.gradient[i];
  gradient_rows += other.gradient_rows;
  return *this;
}

HeadSums::HeadSums(const HeadPlace& at, const RowPlan& plan)
    : place(at), by_length(plan.lengths.size(), RowSums(plan)), common(plan) {}

std::vector<Piece> pieces_of(const RowPlan& plan) {
  std::set<std::int64_t> cuts(plan.lengths.begin(), plan.lengths.end());
  const std::int64_t length = plan.lengths.back();
  if (plan.common_from < length) cuts.insert(plan.common_from);
  for (std::int64_t row = kPieceRows; row < length; row += kPieceRows) cuts.insert(row);
  std::vector<Piece> pieces;
  std::int64_t first = 0;
  for (const std::int64_t cut : cuts) {
    if (cut > first) pieces.push_back({first, cut - first});
    first = cut;
  }
  return pieces;
}

void add_pieces(const RowPlan& plan, std::span<const Piece> pieces, std::span<const RowSums> sums,
                HeadSums& head) {
  RowSums so_far(plan);
  std::size_t next = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    so_far += sums[i];
    if (pieces[i].first >= plan.common_from) head.common += sums[i];
    if (pieces[i].first + pieces[i].rows == plan.lengths[next]) head.by_length[next++] += so_far;
  }
}

Distances mean_distance(const RowSums& sums, std::size_t top) {
  return sums.distances[top].divided_by(divisor(sums.distance_rows[top]));
}

Separability mean_separability(const RowSums& sums, std::size_t top) {
  const double rows = divisor(sums.separability_rows[top]);
  const Separability& sum = sums.separability[top];
  return {sum.share / rows, sum.bound / rows, sum.counted / rows};
}

double mean_gradient(const RowSums& sums, std::size_t at) {
  return sums.gradient[at] / divisor(sums.gradient_rows);
}

}  // namespace sharpmax::audit
