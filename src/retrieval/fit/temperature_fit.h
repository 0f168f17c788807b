// Fitting adaptive temperature to a head the way paper A did: over sets that the head gets wrong under
// softmax, the temperature that would have served best, as a polynomial of the entropy; and what comes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "retrieval/testing/evaluation.h"
#include "sharpmax/fit.h"
#include "statistics/significance.h"

namespace sharpmax::retrieval {

// A polynomial of entropy through best temperatures, by least squares, and where such a polynomial sharpens.

struct ResidualBin {
  Interval entropy;
  std::int64_t points = 0;
  double mean_beta = 0.0;      // NaN if there are no points, as are the next
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

// Which of the sets that softmax gets wrong are fitted.
enum class FitSets {
  wrong,   // all: paper A
  mended,  // those that some temperature gets right
};

struct TemperatureFitRequest {
  std::vector<std::int64_t> sizes = {16, 32, 64, 128, 256, 512, 1024};
  std::int64_t sets = 1024;  // of each size, right and wrong
  FitSets use = FitSets::wrong;
  int degree = 4;
  int bins = 10;
  double least_beta = 0.25;  // best temperatures are looked for from here
  double largest_beta = 16.0;
  // What the polynomials are compared on: fresh sets. 0 sets: no comparison.
  std::vector<std::int64_t> comparison_sizes = {16, 64, 256, 1024, 4096, 16384};
  std::int64_t comparison_sets = 1024;
  double rounding = 1e-3;  // of beta, for the sake of coefficients that can be written down
  // Items of the sets examined, and of those compared on; one call at a time.
  std::function<void(std::int64_t items_done, std::int64_t of)> progress, comparison_progress;
};

struct TemperatureFit {
  std::vector<FitCount> counts;   // one per size
  std::vector<FitPoint> points;    // in the order of sizes and sets
  std::int64_t at_least_beta = 0;  // points whose best temperature is that end of what was looked at
  std::int64_t at_largest_beta = 0;
  PolynomialFit fit;
  std::vector<double> published;             // paper A's polynomial
  double published_rms_residual = 0.0;       // of the same points
  Interval looked_at;                        // the entropies of the next two, in nats
  std::vector<Interval> sharpens;            // where the fitted polynomial exceeds 1
  std::vector<Interval> published_sharpens;  // where the published one does
  // On fresh sets: softmax, adaptive as published, as refitted, entropy_target:nats=0.1; one Evaluation a
  // size.
  std::vector<Evaluation> comparison;
};

// The sets that `head` gets wrong, each with its best temperature. Bitwise the same for any number of
// threads.
std::vector<FitPoint> best_temperatures(const Head& head, const TemperatureFitRequest& request,
                                        std::vector<FitCount>& counts, const Execution& execution = {});

// Points needed for each coefficient: with fewer, the polynomial follows the noise.
inline constexpr std::int64_t kPointsPerCoefficient = 10;

// Throws Error{bad_argument} for bad settings, before any work, and Error{unsupported} when too few sets were
// wrong to fit.
TemperatureFit fit_temperature(const Head& head, const TemperatureFitRequest& request, const Execution& execution = {});

// The beta in [least, largest] of least loss: the best of a grid even in log beta, then golden section
// between its neighbours. `losses` fills in the loss of every beta it is given. Of equal losses the beta
// nearest 1.
struct BestTemperature {
  double beta = 1.0;
  double loss = 0.0;
};
BestTemperature best_temperature(
    double least, double largest,
    const std::function<void(std::span<const double> betas, std::span<double> losses)>& losses);

}  // namespace sharpmax::retrieval
