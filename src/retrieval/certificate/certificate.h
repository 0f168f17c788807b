// What no input at all can do to a trained head: a certified upper bound of its score spread over every
// priority and query in [0, 1] and every class, and what paper A's lemma makes of it.
#pragma once

#include <cstdint>

#include "retrieval/head/head.h"

namespace sharpmax::retrieval {

struct SpreadCertificate {
  double certified = 0.0;  // no row of scores spreads further: proved by branch and bound
  double attained = 0.0;   // some row spreads this far
};
SpreadCertificate certify_spread(const Head& head);

// The largest weight any key of n can have under softmax at beta when scores spread at most delta:
// theory::dispersion_range, for any delta >= 0 and beta >= 0. 1 if their product is infinite, NaN if it is NaN.
double largest_possible_weight(double n, double delta, double beta = 1.0);

// log10 of the size from which no key can have half of the weight: theory::log_sharp_length, in the same domain.
double log10_half_lost_from(double delta, double beta = 1.0);

// How steep and how curved the tanh form of GELU is, at most, anywhere.
//
// |GELU'| is largest at 1.4185, 1.1290; |GELU''| at 0, sqrt(2/pi) = 0.7979. Rounded up by more than
// the functions can rise between the points of the search that tests/laws/retrieval_certificate.cc makes;
// past |x| = 8 both differ from their limits by less than 1e-18.

inline constexpr double kLargestGeluSlope = 1.13;
inline constexpr double kLargestGeluCurvature = 0.80;

}  // namespace sharpmax::retrieval
