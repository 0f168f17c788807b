// Softmax disperses: what a spread of scores leaves of the largest weight, of entropy and of gradients.
#pragma once

#include <span>

namespace sharpmax::theory {

// Softmax disperses: how far scores can spread, what that leaves of the largest weight, and what entropy says of it.

// Sharpness costs norm: how far scores can spread, given the sizes of what they are made of.
//
// Paper A, proposition 3.1. Scores are e_i = scale (Q y) . (K x_i); `query_gain` and `key_gain` are the
// largest singular values of Q and K. Then spread <= 2 scale sigma(Q) sigma(K) |y| max_i |x_i|: each score is
// at most half of that in size. Tight: y along the first right singular vector of Q, x = +/- that which K
// maps onto Q y's direction with its full gain. Where x is normalised before Q and K the norms are constants,
// and only the singular values are left to buy sharpness with.
struct NormFacts {
  double query_gain = 1.0;  // sigma_max(Q)
  double key_gain = 1.0;    // sigma_max(K)
  double query_norm = 1.0;  // |y|
  double key_norm = 1.0;    // max_i |x_i|
  double scale = 1.0;       // 1 / sqrt(d) where scores are divided by it
};

// Throws Error{bad_argument} unless all are 0 or more, and finite.
double norm_spread_bound(const NormFacts& facts);

// Softmax disperses: what the weights of n keys can be when their scores lie within `spread` of each other.
//
// Paper A (arXiv 2410.01104), lemma 2.1 and theorem 2.2. `beta` is the inverse temperature, so that beta *
// spread is all that matters. Hypothesis: every score lies in one interval of width `spread`; nothing is
// asked of where the interval lies, and the row's own spread (spread_of) will do. Every function throws
// Error{bad_argument} unless spread >= 0, beta > 0, n >= 1, 0 < peak < 1, all finite. n is a double, for
// lengths that no integer holds.
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

// Entropy and the peak: what the one says of the other, and how both move with the temperature. Nats.
//
// Paper A says in words that entropy falls as beta grows; the identity dH/dbeta = -beta Var(e) is the reason.
// Every function throws Error{bad_argument} on arguments that are not finite or outside the domain named.

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

// How fast softmax's weights can move with its scores: alpha = softmax(l / T), J = (diag(alpha) - alpha
// alpha^T) / T.
//
// Paper B, corollary 3, states |grad alpha| <= min{1 / (4T), sqrt(2)} for the 2-norm. That is not so: two
// tied scores give |J| = 1 / (2T), and for T < 1 / (2 sqrt(2)) that is above sqrt(2) as well. What holds is
// below; 1 / (4T) is right for the largest entry of J. Every function throws Error{bad_argument} unless T >
// 0, epsilon > 0, finite.

// min{1 / (4T), sqrt(2)}, as published. Not a bound of the spectral norm nor of finite differences.
double published_gradient_bound(double temperature);

// |J| <= 1 / (2T) in the 2-norm; two tied scores that share all weight reach it.
double jacobian_norm_bound(double temperature);
// |J_ij| <= 1 / (4T); a weight of one half reaches it.
double jacobian_entry_bound(double temperature);

// |J| of one row is at most min{max_i 2 alpha_i (1 - alpha_i), max_i alpha_i} / T: Gershgorin's disks, and
// J T <= diag(alpha). Weights are those of a distribution: none negative, sum 1 to 1e-6.
double jacobian_norm_bound(double temperature, std::span<const double> weights);
// ... and of any row of n scores within `spread` of each other, by the dispersion lemma: it vanishes as 1 /
// n.
double dispersed_jacobian_norm_bound(double temperature, double spread, double n);

// |softmax((l + epsilon v) / T) - softmax(l / T)| / epsilon <= min{1 / (2T), sqrt(2) / epsilon} for unit v.
double difference_bound(double temperature, double epsilon);

}  // namespace sharpmax::theory
