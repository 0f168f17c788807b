// The spread of one row's scores, over all inputs of the size that a norm leaves.
#pragma once

#include "audit/certificate/folded_head.h"

namespace sharpmax::audit {

// No row of this head spreads further, whatever enters the layer: any hidden state, any length, any offsets.
// Before the soft cap. Holds for scores as the forward pass computes them in float.
//
// Without rotation it is the largest value over the ball but for rounding: the folded product's spectral
// norm. With it, for any D > 0 that is constant on pairs (and so commutes with every turn)
//   spread <= 2 scale max |D query| max |D^-1 key|;
// D is searched for, and the maximum of |Q u + q0| over a ball is what duality gives it exactly.
double norm_bound(const FoldedHead& head);

// c tanh(score / c) of scores that spread at most `spread`; c = 0: no cap.
double capped_spread(double spread, double cap);

}  // namespace sharpmax::audit
