#include "audit/analysis/row_separability.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/analysis/selection.h"
#include "base/numbers.h"

namespace sharpmax::audit {
namespace {

}  // namespace

void RowSeparability::add(const WeighedRow& row, std::span<const std::int64_t> tops,
                          std::span<Separability> out) {
  const std::int64_t keys = row.gram.keys;
  const auto there =
      static_cast<std::size_t>(std::lower_bound(tops.begin(), tops.end(), keys) - tops.begin());
  if (there == 0) return;
  unit_weights_.resize(to_size(keys));
  lengths_.resize(to_size(keys));
  double all = 0.0;
  for (std::size_t i = 0; i < to_size(keys); ++i) {
    const double square = row.gram.square(static_cast<std::int64_t>(i));
    lengths_[i] = square > 0 ? 1.0 / std::sqrt(square) : square;  // 0 stays, NaN too
    unit_weights_[i] = row.weights[i] * lengths_[i];
    all += unit_weights_[i];
  }
  if (!std::isfinite(all)) {
    for (std::size_t k = 0; k < there; ++k) out[k] = {kNaN, kNaN, kNaN};
    return;
  }
  top_keys({row.weights, to_size(keys)}, tops[there - 1], keys_);
  selection_.start(row.gram, unit_weights_.data());
  double closest = -1.0;  // the largest cosine of two keys taken
  for (std::size_t k = 0, taken = 0; k < there; ++k) {
    for (; taken < to_size(tops[k]); ++taken) {
      closest = std::max(closest, closest_of(row, taken));
      selection_.take(keys_[taken]);
    }
    const double least = selection_.least_square_left();
    out[k].share += share_of(taken, least);
    add_bounds(row, taken, std::sqrt(least), closest, out[k]);
  }
}

double RowSeparability::share_of(std::size_t taken, double least) const {
  std::size_t nearer = 0;
  for (std::size_t i = 0; i < taken; ++i) nearer += selection_.square_to(keys_[i]) < least;
  return static_cast<double>(nearer) / static_cast<double>(taken);
}

// The largest cosine between the key at `taken` and those before it.
double RowSeparability::closest_of(const WeighedRow& row, std::size_t taken) const {
  if (taken == 0) return -1.0;
  const std::int64_t key = keys_[taken];
  const double* const products = row.gram.row(key);
  double closest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < taken; ++i)
    closest = std::max(closest, products[keys_[i]] * lengths_[to_size(keys_[i])]);
  return closest * lengths_[to_size(key)];
}

// Vectors of length 1 of which no two have a larger cosine than `closest`: |s - y_i| is at most xi_i, xi_i^2
// = sum of a_j^2 + closest (sum of a_j a_k) over j, k other than i and each other. The share is at least 1 -
// (sum of xi) / (N r), and at least the share of xi below r.
void RowSeparability::add_bounds(const WeighedRow& row, std::size_t taken, double least, double closest,
                                 Separability& out) const {
  double sum = 0.0, squares = 0.0, reaches = 0.0;
  for (std::size_t i = 0; i < taken; ++i) {
    const double a = row.weights[keys_[i]];
    sum += a;
    squares += a * a;
  }
  std::size_t within = 0;
  for (std::size_t i = 0; i < taken; ++i) {
    const double a = row.weights[keys_[i]];
    const double others = squares - a * a, pairs = (sum - a) * (sum - a) - others;
    const double reach = std::sqrt(std::max(0.0, others + closest * pairs));
    reaches += reach;
    within += reach < least;
  }
  const auto count = static_cast<double>(taken);
  // A row that puts all weight on one key has no reach and, where it leaves others at 0, no r.
  out.bound += least > 0 ? 1.0 - reaches / (count * least) : 0.0;
  out.counted += static_cast<double>(within) / count;
}

}  // namespace sharpmax::audit
