// Upper bounds that rounding cannot break: largest eigenvalues, and largest products of two sets of vectors.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace sharpmax::audit {

// Largest eigenvalues of small positive semidefinite matrices, from above: what power iteration, which comes
// from below, cannot certify.

// A symmetric matrix, row by row.
struct Symmetric {
  std::int64_t size = 0;
  std::vector<double> entries;  // [size, size]

  double operator()(std::int64_t i, std::int64_t j) const {
    return entries[static_cast<std::size_t>(i * size + j)];
  }
  double& operator()(std::int64_t i, std::int64_t j) {
    return entries[static_cast<std::size_t>(i * size + j)];
  }
  double trace() const;
  // Each entry and its mirror image become their mean: products round them apart, and the norm of a matrix is
  // its largest eigenvalue only if they agree. Brings it no further from a symmetric one.
  void make_symmetric();
};

// rows rows^T for rows [count, width]. Off by at most gemm_error(width) trace in the spectral norm.
Symmetric gram_of(const std::vector<double>& rows, std::int64_t count, std::int64_t width);

// What a sum of `terms` products in double may be off by, relative to the sum of their sizes.
double gemm_error(std::int64_t terms);

// An upper bound of the largest eigenvalue of a positive semidefinite matrix, above it by no more than a
// millionth. Rounding is accounted for. Not a number where an entry is not.
double largest_eigenvalue(const Symmetric& matrix);

// The diagonal of matrix^(2^doublings) over its trace: how much of each coordinate is in the leading
// eigenvectors. Positive, sums to 1.
std::vector<double> leading_diagonal(const Symmetric& matrix, int doublings);

// l l^T = matrix + lift on its diagonal, up to `error` in the spectral norm. l is lower triangular. The lift
// is what keeps the last pivots of a singular matrix positive; if one is not, the error is infinite.
struct Factor {
  Symmetric lower;  // its upper half is 0
  double error = 0.0;
};
Factor cholesky(const Symmetric& matrix, double lift);

// The largest inner product between two sets of vectors without negative entries, certified from above,
// without looking at all pairs.

struct Magnitudes {
  std::int64_t count = 0, groups = 0;
  std::vector<float> values;  // [count, groups], none negative
};

struct LargestProduct {
  double bound = 0.0;  // of every pair's product, rounding accounted for
  // Queries of the largest products that were seen, best first; at most as many as were asked for.
  std::vector<std::int64_t> queries;
};

// `advance` hears of the multiplications done or found needless; they add up to query.count * key.count *
// groups.
LargestProduct largest_product(const Magnitudes& query, const Magnitudes& key, std::int64_t wanted_queries,
                               const std::function<void(double)>& advance);

}  // namespace sharpmax::audit
