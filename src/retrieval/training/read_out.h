// From pooled features to the loss, and back.
//
//   R = W_hidden W_V [W_items b_items]                      [width, item_features + 1]
//   logits = W_out GELU(R [z; m] + b_hidden) + b_out        z = sum_i w_i g_i, m = sum_i w_i
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retrieval/training/part_views.h"
#include "retrieval/training/training.h"

namespace sharpmax::retrieval {

template <class Real>
class ReadOut {
 public:
  ReadOut(const TrainingSettings& settings, const Layout& layout);

  // pooled: [sets, item_features + 1]; answers: one class a set. Mean cross-entropy and accuracy.
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
