// The parts of a head in training: views of its parameters, the path of the queries, the read-out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/blas.h"
#include "retrieval/head/head.h"
#include "retrieval/training/head_kernels.h"
#include "retrieval/training/training.h"

namespace sharpmax::retrieval {

// A head's parameters and their gradient, seen part by part.
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

// From the queries of a batch to the vectors t their items are scored with, and back.
//
//   t(y) = scale [W_items b_items]^T W_K^T W_Q (W_query h(y) + b_query)     score = t . [g; 1]
//
// Computed at Chebyshev nodes and interpolated (folded.h), or at the queries themselves where that takes
// fewer columns.
template <class Real>
class QueryPath {
 public:
  QueryPath(const TrainingSettings& settings, const Layout& layout);

  // items_map: [W_items b_items], [width, item_features + 1]. t: [queries, item_features + 1].
  void forward(const PartViews<Real>& head, Matrix<const Real> items_map, std::span<const double> queries,
               Matrix<Real> t);
  // Writes the gradients of the query encoder, W_Q and W_K; adds to d_items_map. After forward() of the same
  // head.
  void backward(const PartViews<Real>& head, Matrix<const Real> items_map, Matrix<const Real> d_t,
                Matrix<Real> d_items_map);

  std::int64_t columns() const noexcept { return columns_; }  // of the last forward()

 private:
  void choose_points(const PartViews<Real>& head, std::span<const double> queries);
  void encode(const PartViews<Real>& head);

  bool mlp_;
  Real scale_;
  std::int64_t width_, features_;
  std::int64_t columns_ = 0;
  bool interpolated_ = false;
  std::vector<double> points_;                   // where t is computed: nodes, or the queries
  std::vector<Real> interpolation_;              // [queries, columns], if interpolated
  std::vector<Real> encoded_, slopes_;           // h and its derivative: [columns, features]
  std::vector<Real> vector_, asked_, key_side_;  // W_query h + b; W_Q of it; W_K^T of that: [columns, width]
  std::vector<Real> d_vector_, d_asked_, d_key_side_, d_encoded_;
  std::vector<Real> at_points_, d_at_points_;  // t and its gradient at the points
};

// From pooled features to the loss, and back.
//
//   R = W_hidden W_V [W_items b_items]                      [width, item_features + 1]
//   logits = W_out GELU(R [z; m] + b_hidden) + b_out        z = sum_i w_i g_i, m = sum_i w_i
template <class Real>
class ReadOut {
 public:
  ReadOut(const TrainingSettings& settings, const Layout& layout);

  // pooled: [sets, item_features + 1]; answers: one class per set. Mean cross-entropy and accuracy.
  StepReport forward(const PartViews<Real>& head, Matrix<const Real> items_map, Matrix<const Real> pooled,
                     std::span<const std::int32_t> answers);
  // Writes the gradients of the read-out and W_V, d_pooled and d_items_map. After forward() of the same
  // batch.
  void backward(const PartViews<Real>& head, Matrix<const Real> items_map, Matrix<const Real> pooled,
                Matrix<Real> d_pooled, Matrix<Real> d_items_map);

 private:
  double loss_of_set(Real* logits, std::int32_t answer, std::int64_t sets, StepReport& report) const;

  std::int64_t width_, classes_;
  std::vector<Real> value_map_, hidden_map_, d_value_map_, d_hidden_map_;  // [width, item_features + 1]
  std::vector<Real> hidden_, slopes_, d_hidden_;                           // [sets, width]
  std::vector<Real> logits_;  // [sets, classes]; then their gradient
};

}  // namespace sharpmax::retrieval
