// A head with its linear maps multiplied out, in double: what testing and certificates work with.
//
//   t(y) = T [h(y); 1]           [item_features + 1]: score = t . [g; 1], scale included
//   hidden = GELU(R [z; m] + b)  z = sum_i w_i g_i, m = sum_i w_i
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "learning/kernels.h"
#include "retrieval/head/head.h"

namespace sharpmax::retrieval {

using learning::kGeluCubic;
using learning::kGeluRate;

struct FoldedHead {
  explicit FoldedHead(const Head& head);

  Encoder encoder;
  std::int64_t width = 0;
  std::int64_t classes = 0;
  std::int64_t item_features = 0;   // mlp: width; linear: 1 + classes
  std::int64_t query_features = 0;  // mlp: width; linear: 1

  // mlp only. Feature j of an item of class c: GELU(item_slope[j] rho + item_offset[c, j]).
  std::vector<double> item_slope;    // [width]
  std::vector<double> item_offset;   // [classes, width]
  std::vector<double> query_slope;   // [width]
  std::vector<double> query_offset;  // [width]

  std::vector<double> score;        // T: [item_features + 1, query_features + 1]
  std::vector<double> hidden;       // R: [width, item_features + 1]
  std::vector<double> hidden_bias;  // [width]
  std::vector<double> out;          // [classes, width]
  std::vector<double> out_bias;     // [classes]

  std::vector<double> query_vector(double y) const;  // t(y)
  // Logits of z and m.
  void read_out(std::span<const double> pooled /*[item_features + 1]*/, std::span<double> logits) const;
};

double gelu(double x) noexcept;        // the tanh form
double gelu_slope(double x) noexcept;  // its derivative

// A query is one number, so whatever a head makes of it is a curve over [0, 1]. A smooth curve is known
// everywhere, to the last bit of its type, from a few Chebyshev nodes: so the query's part of the head is
// computed at the nodes and interpolated, instead of once for every set of a batch.
//
// GELU in its tanh form is analytic in the strip |Im x| < 2.75 (kGeluStrip). Interpolation of GELU(w y + b)
// at r nodes then errs by at most 4 M rho^-r / (rho - 1), M the largest modulus in the ellipse of semi-axes
// with sum rho / 2 (Trefethen, Approximation Theory and Practice, theorem 8.2): r is chosen so that this is
// below rounding.

// Nodes that interpolate GELU(w y + b), |w| <= largest_slope, to `unit_roundoff` of its size on [0, 1].
std::int64_t nodes_needed(double largest_slope, double unit_roundoff);

// The r Chebyshev nodes of the first kind on [0, 1].
std::vector<double> chebyshev_nodes(std::int64_t r);

// coefficients[k] of the node values in the interpolant's value at y. Sizes r.
void interpolate_at(std::span<const double> nodes, double y, std::span<double> coefficients);

}  // namespace sharpmax::retrieval
