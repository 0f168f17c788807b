// What a bound of the spread of scores says of weights: paper A's lemma, in forms that do not overflow.
#include <cmath>
#include <numbers>

#include "retrieval/certificate/certificate.h"

namespace sharpmax::retrieval {

double largest_possible_weight(double n, double delta, double beta) {
  return 1.0 / (1.0 + (n - 1.0) * std::exp(-beta * delta));
}

double log10_half_lost_from(double delta, double beta) {
  const double exponent = beta * delta;  // log10(1 + e^x), where e^x may be past any double
  return (std::max(exponent, 0.0) + std::log1p(std::exp(-std::abs(exponent)))) / std::numbers::ln10;
}

}  // namespace sharpmax::retrieval
