#include "retrieval/training/read_out.h"

#include <algorithm>
#include <cmath>

#include "retrieval/training/head_kernels.h"

namespace sharpmax::retrieval {

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
