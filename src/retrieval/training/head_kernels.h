// The loops of the head that run item by item or parameter by parameter, compiled for every instruction
// set. Each is written once for float and double; sums run in an order that the shape alone fixes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "learning/kernels.h"

namespace sharpmax::retrieval {

using learning::adam;
using learning::AdamStep;
using learning::add_scaled;
using learning::dot;
using learning::gelu_in_place;
using learning::sum_of_squares;

// out[j] = GELU(slope[j] x + offset[j]), d_out[j] = its derivative by the argument. n features.
template <class Real>
void gelu_features(const Real* slope, const Real* offset, Real x, std::size_t n, Real* out, Real* d_out);

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

}  // namespace sharpmax::retrieval
