// From the queries of a batch to the vectors t their items are scored with, and back.
//
//   t(y) = scale [W_items b_items]^T W_K^T W_Q (W_query h(y) + b_query)     score = t . [g; 1]
//
// Computed at Chebyshev nodes and interpolated (query_nodes.h), or at the queries themselves where that takes
// fewer columns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retrieval/training/part_views.h"

namespace sharpmax::retrieval {

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

}  // namespace sharpmax::retrieval
