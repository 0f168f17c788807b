// Entropy and the peak: what the one says of the other, and how both move with the temperature. Nats.
//
// Paper A says in words that entropy falls as beta grows; the identity dH/dbeta = -beta Var(e) is the reason.
// Every function throws Error{bad_argument} on what is not finite or outside the domain named.
#pragma once

#include <span>

namespace sharpmax::theory {

// Of softmax(beta e). beta finite; at least one score, all finite.
double entropy_at(double beta, std::span<const double> scores);
// dH/dbeta = -beta Var(e) under softmax(beta e): never positive for beta > 0, 0 only for ties.
double entropy_slope(double beta, std::span<const double> scores);

// The largest weight of a distribution over n keys whose entropy is at most `nats` is at least this. The
// familiar exp(-nats) is what it says where exp(nats) is whole; in between this is more: 0.803 against 0.607
// at half a nat. Tight: floor(1/p) keys of weight p and one of what is left reach it. nats >= 0, n >= 1.
double least_peak_at_entropy(double nats, double n);

// ... and whose entropy is at least `nats` is at most this: one key of weight p above n - 1 equal ones reach
// it. 0 <= nats <= ln n.
double largest_peak_at_entropy(double nats, double n);

}  // namespace sharpmax::theory
