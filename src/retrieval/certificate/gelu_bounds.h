// How steep and how curved the tanh form of GELU is, at most, anywhere.
//
// |GELU'| is largest at 1.4185, 1.1290; |GELU''| at 0, sqrt(2/pi) = 0.7979. Rounded up by more than
// the functions can rise between the points of the search that tests/laws/retrieval_certificate.cc makes;
// past |x| = 8 both differ from their limits by less than 1e-18.
#pragma once

namespace sharpmax::retrieval {

inline constexpr double kLargestGeluSlope = 1.13;
inline constexpr double kLargestGeluCurvature = 0.80;

}  // namespace sharpmax::retrieval
