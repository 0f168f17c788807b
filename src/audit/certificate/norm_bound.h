// The spread of one row over all inputs of the size that a norm leaves: a bound, and what some inputs reach.
#pragma once

#include "audit/certificate/folded_head.h"
#include "model/architecture/configuration.h"
#include "model/transformer/model.h"

namespace sharpmax::audit {

// The spread of one row's scores, over all inputs of the size that a norm leaves.

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

// How much of a norm bound inputs of the right size really reach.

// The spread of two keys under one query, each the best of its size that a climb finds: the query and the
// keys in turn, at the best offsets of a few hundred. After the soft cap. Whether any text makes such inputs
// is another question.
double reached_spread(const FoldedHead& head, const model::Rope& rope);

// Heads whose queries and keys are normalized before they are turned (QueryKeyNorm): the weights of those two
// norms are all that bounds their scores.
struct NormalizedHead {
  double bound = 0.0;    // as norm_bound(): no row spreads further
  double reached = 0.0;  // by one query and two keys, as reached_spread()
};
NormalizedHead normalized_head(const model::Model& model, std::int64_t layer, std::int64_t head);

}  // namespace sharpmax::audit
