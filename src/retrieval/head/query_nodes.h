// A query is one number, so whatever a head makes of it is a curve over [0, 1]. A smooth curve is known
// everywhere, to the last bit of its type, from a few Chebyshev nodes: so the query's part of the head is
// computed at the nodes and interpolated, instead of once for every set of a batch.
//
// GELU in its tanh form is analytic in the strip |Im x| < 2.75 (kGeluStrip). Interpolation of GELU(w y + b)
// at r nodes then errs by at most 4 M rho^-r / (rho - 1), M the largest modulus in the ellipse of semi-axes
// with sum rho / 2 (Trefethen, Approximation Theory and Practice, theorem 8.2): r is chosen so that this is
// below rounding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sharpmax::retrieval {

// Nodes that interpolate GELU(w y + b), |w| <= largest_slope, to `unit_roundoff` of its size on [0, 1].
std::int64_t nodes_needed(double largest_slope, double unit_roundoff);

// The r Chebyshev nodes of the first kind on [0, 1].
std::vector<double> chebyshev_nodes(std::int64_t r);

// coefficients[k] of the node values in the interpolant's value at y. Sizes r.
void interpolate_at(std::span<const double> nodes, double y, std::span<double> coefficients);

}  // namespace sharpmax::retrieval
