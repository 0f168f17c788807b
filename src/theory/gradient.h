// How fast softmax's weights can move with its scores: alpha = softmax(l / T), J = (diag(alpha) - alpha
// alpha^T) / T.
//
// Paper B, corollary 3, states |grad alpha| <= min{1 / (4T), sqrt(2)} for the 2-norm. That is not so: two
// tied scores give |J| = 1 / (2T), and for T < 1 / (2 sqrt(2)) that is above sqrt(2) as well. What holds is
// below; 1 / (4T) is right for the largest entry of J. Every function throws Error{bad_argument} unless T >
// 0, epsilon > 0, finite.
#pragma once

#include <span>

namespace sharpmax::theory {

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
