// Softmax disperses: what the weights of n keys can be when their scores lie within `spread` of each other.
//
// Paper A, lemma 2.1 and theorem 2.2 (arXiv 2410.01104). `beta` is the inverse temperature, so that beta *
// spread is all that matters. Every function throws Error{bad_argument} unless spread >= 0, beta > 0, n >= 1
// (and finite).
#pragma once

namespace sharpmax::theory {

struct Range {
  double low = 0.0;
  double high = 0.0;
};

// As published: exp(-beta spread) / n <= every weight <= exp(beta spread) / n.
Range dispersion_bound(double spread, double n, double beta = 1.0);

}  // namespace sharpmax::theory
