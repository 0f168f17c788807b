// Softmax disperses: what the weights of n keys can be when their scores lie within `spread` of each other.
//
// Paper A (arXiv 2410.01104), lemma 2.1 and theorem 2.2. `beta` is the inverse temperature, so that beta *
// spread is all that matters. Hypothesis: every score lies in one interval of width `spread`; nothing is
// asked of where the interval lies, and the row's own spread (spread_of) will do. Every function throws
// Error{bad_argument} unless spread >= 0, beta > 0, n >= 1, 0 < peak < 1, all finite. n is a double, for
// lengths that no integer holds.
#pragma once

#include <span>

namespace sharpmax::theory {

struct Range {
  double low = 0.0;
  double high = 0.0;
};

// Largest less smallest score: the empirical spread. At least one score, all finite.
double spread_of(std::span<const double> scores);

// As published: exp(-beta spread) / n <= every weight <= exp(beta spread) / n. The upper end may exceed 1.
Range dispersion_bound(double spread, double n, double beta = 1.0);

// The tight form: the least and the largest weight that any key of any such row can have, both reached.
//   low: one key `spread` below n - 1 others, 1 / (1 + (n - 1) exp(beta spread))
//   high: one key `spread` above n - 1 others, 1 / (1 + (n - 1) exp(-beta spread))
// The largest weight *of a row* lies in [1 / n, high]: ties reach the lower end.
Range dispersion_range(double spread, double n, double beta = 1.0);

// Theorem 2.2's length: once n exceeds exp(beta spread) / peak every weight is below `peak`. As a natural
// logarithm, because exp(beta spread) overflows from spreads that real models have.
double log_dispersion_length(double spread, double peak, double beta = 1.0);

// The same question with the tight form: some row of n keys has a weight of `peak` or more if and only if
// n <= 1 + (1 / peak - 1) exp(beta spread), whose logarithm this is. With peak = 1/2: 1 + exp(beta spread).
double log_sharp_length(double spread, double peak, double beta = 1.0);

}  // namespace sharpmax::theory
