// Sharpness costs norm: how far scores can spread, given the sizes of what they are made of.
//
// Paper A, proposition 3.1. Scores are e_i = scale (Q y) . (K x_i); `query_gain` and `key_gain` are the
// largest singular values of Q and K. Then spread <= 2 scale sigma(Q) sigma(K) |y| max_i |x_i|: each score is
// at most half of that in size. Tight: y along the first right singular vector of Q, x = +/- that which K
// maps onto Q y's direction with its full gain. Where x is normalised before Q and K the norms are constants,
// and only the singular values are left to buy sharpness with.
#pragma once

namespace sharpmax::theory {

struct NormFacts {
  double query_gain = 1.0;  // sigma_max(Q)
  double key_gain = 1.0;    // sigma_max(K)
  double query_norm = 1.0;  // |y|
  double key_norm = 1.0;    // max_i |x_i|
  double scale = 1.0;       // 1 / sqrt(d) where scores are divided by it
};

// Throws Error{bad_argument} unless all are 0 or more, and finite.
double norm_spread_bound(const NormFacts& facts);

}  // namespace sharpmax::theory
