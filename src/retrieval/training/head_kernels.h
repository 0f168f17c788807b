// The loops of the head that run item by item or parameter by parameter, compiled for every instruction
// set. Each is written once for float and double; sums run in an order that the shape alone fixes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sharpmax::retrieval {

// out[j] = GELU(slope[j] x + offset[j]), d_out[j] = its derivative by the argument. n features.
template <class Real>
void gelu_features(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out, Real* d_out);

// In place: values become GELU(values), d_out their derivatives.
template <class Real>
void gelu_in_place(Real* values, std::size_t n, Real* d_out);

template <class Real>
Real dot(const Real* a, const Real* b, std::size_t n);

// y += a x
template <class Real>
void add_scaled(Real a, const Real* x, std::size_t n, Real* y);

// What one item of a set gives back to the item encoder and to its query's vector t. With g, d_g the item's
// features and their slopes: d = (weight d_pooled + d_score t) d_g, then d_slope += x d, d_offset += d, d_t
// += d_score g.
template <class Real>
struct ItemBackward {
  const Real* features;
  const Real* slopes;
  const Real* d_pooled;
  const Real* t;
  Real weight;
  Real d_score;
  Real x;
  Real* d_slope;
  Real* d_offset;
  Real* d_t;
};
template <class Real>
void item_backward(const ItemBackward<Real>& item, std::size_t n);

template <class Real>
double sum_of_squares(const Real* values, std::size_t n);

// One step of Adam with decoupled decay. The corrections are 1 / (1 - beta^step).
struct AdamStep {
  double learning_rate;
  double weight_decay;
  double beta1;
  double beta2;
  double epsilon;
  double correction1;
  double correction2;
  double gradient_scale;  // clipping
};
template <class Real>
void adam(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first, Real* second);

}  // namespace sharpmax::retrieval
