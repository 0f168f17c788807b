#include "audit/analysis/row_separability.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit/analysis/selection.h"

namespace sharpmax::audit {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

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
    for (std::size_t k = 0; k < there; ++k) out[k].share = out[k].bound = kNaN;
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
    out[k].bound += bound_of(row, taken, std::sqrt(least), closest);
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

// 1 - (1 / (N r)) sum of xi_i, xi_i^2 = sum of a_j^2 + closest (sum of a_j a_k) over j, k other than i and
// each other: |s - y_i|^2 at most, for vectors of length 1 of which no two have a larger cosine.
double RowSeparability::bound_of(const WeighedRow& row, std::size_t taken, double least,
                                 double closest) const {
  double sum = 0.0, squares = 0.0, roots = 0.0;
  for (std::size_t i = 0; i < taken; ++i) {
    const double a = row.weights[keys_[i]];
    sum += a;
    squares += a * a;
  }
  for (std::size_t i = 0; i < taken; ++i) {
    const double a = row.weights[keys_[i]];
    const double others = squares - a * a, pairs = (sum - a) * (sum - a) - others;
    roots += std::sqrt(std::max(0.0, others + closest * pairs));
  }
  if (roots == 0.0) return 1.0;
  return 1.0 - roots / (static_cast<double>(taken) * least);
}

}  // namespace sharpmax::audit
