#include "retrieval/training/head_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "retrieval/head/folded.h"
#include "retrieval/training/head_kernels.h"

namespace sharpmax::retrieval {

template <class Real>
QueryPath<Real>::QueryPath(const TrainingSettings& settings, const Layout& layout)
    : mlp_(settings.encoder == Encoder::mlp),
      scale_(settings.scale_scores ? static_cast<Real>(1.0 / std::sqrt(static_cast<double>(settings.width)))
                                   : Real{1}),
      width_(settings.width),
      features_(layout.query_features()) {}

template <class Real>
void QueryPath<Real>::choose_points(const PartViews<Real>& head, std::span<const double> queries) {
  std::int64_t nodes = 2;  // a straight line
  if (mlp_) {
    double largest = 0.0;
    for (std::int64_t j = 0; j < width_; ++j)
      largest = std::max(largest, std::abs(static_cast<double>(head[Part::query_in_weight].data[j])));
    // A slope that is not a number ends in a loss that is none either, which the trainer reports.
    if (std::isfinite(largest)) nodes = nodes_needed(largest, 0.5 * std::numeric_limits<Real>::epsilon());
  }
  const auto count = static_cast<std::int64_t>(queries.size());
  interpolated_ = nodes < count;
  columns_ = interpolated_ ? nodes : count;
  if (!interpolated_) {
    points_.assign(queries.begin(), queries.end());
    return;
  }
  points_ = chebyshev_nodes(nodes);
  std::vector<double> coefficients(static_cast<std::size_t>(nodes));
  interpolation_.resize(static_cast<std::size_t>(count * nodes));
  for (std::int64_t q = 0; q < count; ++q) {
    interpolate_at(points_, queries[static_cast<std::size_t>(q)], coefficients);
    std::copy(coefficients.begin(), coefficients.end(), row_of(interpolation_, nodes, q));
  }
}

template <class Real>
void QueryPath<Real>::encode(const PartViews<Real>& head) {
  encoded_.resize(static_cast<std::size_t>(columns_ * features_));
  slopes_.resize(encoded_.size());
  for (std::int64_t k = 0; k < columns_; ++k) {
    const Real y = static_cast<Real>(points_[static_cast<std::size_t>(k)]);
    Real* h = row_of(encoded_, features_, k);
    if (mlp_)
      gelu_features(head[Part::query_in_weight].data, head[Part::query_in_bias].data, y,
                    static_cast<std::size_t>(features_), h, row_of(slopes_, features_, k));
    else
      h[0] = y;
  }
}

template <class Real>
void QueryPath<Real>::forward(const PartViews<Real>& head, Matrix<const Real> items_map,
                              std::span<const double> queries, Matrix<Real> t) {
  choose_points(head, queries);
  encode(head);
  for (auto* memory : {&vector_, &asked_, &key_side_, &d_vector_, &d_asked_, &d_key_side_})
    memory->resize(static_cast<std::size_t>(columns_ * width_));
  for (auto* memory : {&at_points_, &d_at_points_})
    memory->resize(static_cast<std::size_t>(columns_ * items_map.columns));
  for (std::int64_t k = 0; k < columns_; ++k)
    std::copy_n(head[Part::query_bias].data, width_, row_of(vector_, width_, k));
  gemm(1, as_matrix(encoded_, columns_), transpose(head[Part::query_weight]), 1,
       as_matrix(vector_, columns_));
  gemm(1, as_matrix(vector_, columns_), transpose(head[Part::w_q]), 0, as_matrix(asked_, columns_));
  gemm(1, as_matrix(asked_, columns_), head[Part::w_k], 0, as_matrix(key_side_, columns_));
  if (!interpolated_) {
    gemm(scale_, as_matrix(key_side_, columns_), items_map, 0, t);
    return;
  }
  gemm(scale_, as_matrix(key_side_, columns_), items_map, 0, as_matrix(at_points_, columns_));
  gemm(1, as_matrix(interpolation_, t.rows), as_matrix(at_points_, columns_), 0, t);
}

template <class Real>
void QueryPath<Real>::backward(const PartViews<Real>& head, Matrix<const Real> items_map,
                               Matrix<const Real> d_t, Matrix<Real> d_items_map) {
  Matrix<const Real> d_points = d_t;
  if (interpolated_) {
    const Matrix<Real> gathered = as_matrix(d_at_points_, columns_);
    gemm(1, transpose<const Real>(as_matrix(interpolation_, d_t.rows)), d_t, 0, gathered);
    d_points = gathered;
  }
  const Matrix<Real> d_key_side = as_matrix(d_key_side_, columns_), d_asked = as_matrix(d_asked_, columns_),
                     d_vector = as_matrix(d_vector_, columns_);
  gemm(scale_, transpose<const Real>(as_matrix(key_side_, columns_)), d_points, 1, d_items_map);
  gemm(scale_, d_points, transpose(items_map), 0, d_key_side);
  gemm(1, transpose<const Real>(as_matrix(asked_, columns_)), d_key_side, 0, head.gradient_of(Part::w_k));
  gemm(1, d_key_side, transpose(head[Part::w_k]), 0, d_asked);
  gemm(1, transpose<const Real>(d_asked), as_matrix(vector_, columns_), 0, head.gradient_of(Part::w_q));
  gemm(1, d_asked, head[Part::w_q], 0, d_vector);
  gemm(1, transpose<const Real>(d_vector), as_matrix(encoded_, columns_), 0,
       head.gradient_of(Part::query_weight));
  sum_rows<Real>(d_vector.data, columns_, width_, head.gradient_of(Part::query_bias).data);
  if (!mlp_) return;
  d_encoded_.resize(encoded_.size());
  gemm(1, d_vector, head[Part::query_weight], 0, as_matrix(d_encoded_, columns_));
  Real* d_weight = head.gradient_of(Part::query_in_weight).data;
  std::fill_n(d_weight, width_, Real{0});
  for (std::size_t i = 0; i < d_encoded_.size(); ++i) d_encoded_[i] *= slopes_[i];
  for (std::int64_t k = 0; k < columns_; ++k)
    add_scaled(static_cast<Real>(points_[static_cast<std::size_t>(k)]), row_of(d_encoded_, width_, k),
               static_cast<std::size_t>(width_), d_weight);
  sum_rows<Real>(d_encoded_.data(), columns_, width_, head.gradient_of(Part::query_in_bias).data);
}

template class QueryPath<float>;
template class QueryPath<double>;

template <class Real>
ReadOut<Real>::ReadOut(const TrainingSettings& settings, const Layout& layout)
    : width_(settings.width), classes_(settings.classes) {
  for (auto* memory : {&value_map_, &hidden_map_, &d_value_map_, &d_hidden_map_})
    memory->resize(static_cast<std::size_t>(width_ * (layout.item_features() + 1)));
}

template <class Real>
StepReport ReadOut<Real>::forward(const PartViews<Real>& head, Matrix<const Real> items_map,
                                  Matrix<const Real> pooled, std::span<const std::int32_t> answers) {
  gemm(1, head[Part::w_v], items_map, 0, as_matrix(value_map_, width_));
  gemm(1, head[Part::hidden_weight], as_matrix(value_map_, width_), 0, as_matrix(hidden_map_, width_));
  const std::int64_t sets = pooled.rows;
  for (auto* memory : {&hidden_, &slopes_, &d_hidden_})
    memory->resize(static_cast<std::size_t>(sets * width_));
  logits_.resize(static_cast<std::size_t>(sets * classes_));
  for (std::int64_t b = 0; b < sets; ++b) {
    std::copy_n(head[Part::hidden_bias].data, width_, row_of(hidden_, width_, b));
    std::copy_n(head[Part::out_bias].data, classes_, row_of(logits_, classes_, b));
  }
  gemm(1, pooled, transpose<const Real>(as_matrix(hidden_map_, width_)), 1, as_matrix(hidden_, sets));
  gelu_in_place(hidden_.data(), hidden_.size(), slopes_.data());
  gemm(1, as_matrix(hidden_, sets), transpose(head[Part::out_weight]), 1, as_matrix(logits_, sets));
  StepReport report;
  for (std::int64_t b = 0; b < sets; ++b)
    report.loss +=
        loss_of_set(row_of(logits_, classes_, b), answers[static_cast<std::size_t>(b)], sets, report);
  report.loss /= static_cast<double>(sets);
  report.accuracy /= static_cast<double>(sets);
  return report;
}

// The logits become the gradient of the mean loss in place.
template <class Real>
double ReadOut<Real>::loss_of_set(Real* logits, std::int32_t answer, std::int64_t sets,
                                  StepReport& report) const {
  const Real* best = std::max_element(logits, logits + classes_);
  report.accuracy += best - logits == answer ? 1.0 : 0.0;
  const double top = static_cast<double>(*best);
  const double right = static_cast<double>(logits[answer]);
  double sum = 0.0;
  for (std::int64_t c = 0; c < classes_; ++c) sum += std::exp(static_cast<double>(logits[c]) - top);
  for (std::int64_t c = 0; c < classes_; ++c) {
    const double p = std::exp(static_cast<double>(logits[c]) - top) / sum;
    logits[c] = static_cast<Real>((p - (c == answer ? 1.0 : 0.0)) / static_cast<double>(sets));
  }
  return std::log(sum) + top - right;
}

template <class Real>
void ReadOut<Real>::backward(const PartViews<Real>& head, Matrix<const Real> items_map,
                             Matrix<const Real> pooled, Matrix<Real> d_pooled, Matrix<Real> d_items_map) {
  const std::int64_t sets = pooled.rows;
  const Matrix<Real> d_logits = as_matrix(logits_, sets), d_hidden = as_matrix(d_hidden_, sets);
  gemm(1, transpose<const Real>(d_logits), as_matrix(hidden_, sets), 0, head.gradient_of(Part::out_weight));
  sum_rows(logits_.data(), sets, classes_, head.gradient_of(Part::out_bias).data);
  gemm(1, d_logits, head[Part::out_weight], 0, d_hidden);
  for (std::size_t i = 0; i < d_hidden_.size(); ++i) d_hidden_[i] *= slopes_[i];
  sum_rows(d_hidden_.data(), sets, width_, head.gradient_of(Part::hidden_bias).data);

  const Matrix<Real> d_hidden_map = as_matrix(d_hidden_map_, width_),
                     d_value_map = as_matrix(d_value_map_, width_);
  gemm(1, transpose<const Real>(d_hidden), pooled, 0, d_hidden_map);
  gemm(1, d_hidden, as_matrix(hidden_map_, width_), 0, d_pooled);
  gemm(1, d_hidden_map, transpose<const Real>(as_matrix(value_map_, width_)), 0,
       head.gradient_of(Part::hidden_weight));
  gemm(1, transpose(head[Part::hidden_weight]), d_hidden_map, 0, d_value_map);
  gemm(1, d_value_map, transpose(items_map), 0, head.gradient_of(Part::w_v));
  gemm(1, transpose(head[Part::w_v]), d_value_map, 0, d_items_map);
}

template class ReadOut<float>;
template class ReadOut<double>;

}  // namespace sharpmax::retrieval
