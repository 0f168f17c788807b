// A head's parameters and their gradient, seen part by part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/blas.h"
#include "retrieval/head/head.h"
#include "retrieval/training/head_kernels.h"

namespace sharpmax::retrieval {

template <class Real>
struct PartViews {
  const Layout* layout = nullptr;
  std::span<const Real> parameters;
  std::span<Real> gradient;

  Matrix<const Real> operator[](Part which) const {
    const PartShape& shape = (*layout)[which];
    return {parameters.data() + shape.offset, shape.rows, shape.columns};
  }
  Matrix<Real> gradient_of(Part which) const {
    const PartShape& shape = (*layout)[which];
    return {gradient.data() + shape.offset, shape.rows, shape.columns};
  }
};

// Memory as `rows` rows.
template <class Real>
Matrix<Real> as_matrix(std::vector<Real>& memory, std::int64_t rows) {
  return {memory.data(), rows, static_cast<std::int64_t>(memory.size()) / rows};
}
template <class Real>
Real* row_of(std::vector<Real>& memory, std::int64_t columns, std::int64_t index) {
  return memory.data() + index * columns;
}

// sums[c] = sum over rows of a[r, c]
template <class Real>
void sum_rows(const Real* a, std::int64_t rows, std::int64_t columns, Real* sums) {
  std::fill_n(sums, columns, Real{0});
  for (std::int64_t r = 0; r < rows; ++r)
    add_scaled(Real{1}, a + r * columns, static_cast<std::size_t>(columns), sums);
}

// [weight | bias] side by side, and apart again.
template <class Real>
void join_bias(Matrix<const Real> weight, Matrix<const Real> bias, Matrix<Real> out) {
  for (std::int64_t r = 0; r < weight.rows; ++r) {
    for (std::int64_t c = 0; c < weight.columns; ++c)
      out.data[r * out.stride + c] = weight.data[r * weight.columns + c];
    out.data[r * out.stride + weight.columns] = bias.data[r];
  }
}
template <class Real>
void split_bias(Matrix<const Real> joined, Matrix<Real> weight, Matrix<Real> bias) {
  for (std::int64_t r = 0; r < weight.rows; ++r) {
    for (std::int64_t c = 0; c < weight.columns; ++c)
      weight.data[r * weight.columns + c] = joined.data[r * joined.stride + c];
    bias.data[r] = joined.data[r * joined.stride + weight.columns];
  }
}

}  // namespace sharpmax::retrieval
