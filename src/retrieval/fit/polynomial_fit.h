// A polynomial of entropy through best temperatures, by least squares, and where such a polynomial sharpens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sharpmax/fit.h"
#include "statistics/significance.h"

namespace sharpmax::retrieval {

struct ResidualBin {
  Interval entropy;
  std::int64_t points = 0;
  double mean_beta = 0.0;      // NaN where there are no points, as are the next
  double mean_residual = 0.0;  // of beta - polynomial
  double rms_residual = 0.0;
};

struct PolynomialFit {
  std::vector<double> polynomial;  // highest degree first, as adaptive takes it
  Interval entropy;                // of the points: beyond it the polynomial is guesswork
  double rms_residual = 0.0;
  std::vector<ResidualBin> bins;  // of equal width, over the range of entropy
};

double value_of(std::span<const double> polynomial, double x);

// Throws Error{bad_argument} for a degree outside 0 .. 8 and Error{unsupported} if the points do not
// determine a polynomial of that degree. Coefficients have as few digits as move no value over the points'
// entropies by more than `rounding`, so that they can be written down; 0: all digits.
PolynomialFit fit_polynomial(std::span<const FitPoint> points, int degree, int bins = 10,
                             double rounding = 0.0);

// Where in [range.low, range.high] the polynomial exceeds 1, so that adaptive sharpens. Ends within the range
// are roots of polynomial = 1, by bisection; roots closer to each other than 1/4096 of the range may be
// missed.
std::vector<Interval> where_above_one(std::span<const double> polynomial, Interval range);

}  // namespace sharpmax::retrieval
