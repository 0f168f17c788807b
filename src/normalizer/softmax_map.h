// Softmax at a given temperature, in double: what most members of the family are made of.
#pragma once

#include <span>

#include "normalizer/definition.h"

namespace sharpmax {

// What one sweep at temperature beta learns. With d_j = beta (e_j - top), never positive:
struct SharpenedSurvey {
  double top = 0.0;     // the score of the heaviest key: the largest, or for beta < 0 the smallest
  double tail = 0.0;    // sum of exp(d_j) over every key but the first heaviest
  double moment = 0.0;  // sum of exp(d_j) d_j
  double square = 0.0;  // sum of exp(d_j) d_j^2

  double peak_weight() const noexcept { return 1.0 / (1.0 + tail); }
  double entropy() const noexcept;   // nats
  double variance() const noexcept;  // of d under the weights: beta^2 Var(e)
};

// The score that gets the largest weight at this temperature. At least one score.
double heaviest_score(double beta, std::span<const double> scores);

SharpenedSurvey survey_at(double beta, std::span<const double> scores);

// Weights exp(beta e_j) / sum, for finite beta of either sign. They come from beta (e_j - top), whose
// difference is exact for near ties: beta of 1e18 loses nothing. The largest is 1 / (1 + tail), bit for bit.
RowFacts softmax_at(double beta, std::span<const double> scores, std::span<double> weights);

// The limit of an infinite beta: 1/m for each of the m keys that share the first place.
RowFacts sharpest_limit(std::span<const double> scores, std::span<double> weights);

// d_scores at fixed beta; returns the derivative by beta.
double softmax_backward(double beta, std::span<const double> scores, std::span<const double> weights,
                        std::span<const double> d_weights, std::span<double> d_scores);

// The kernels' rule for a softmax. Their exponents are beta (e - largest score), which a negative beta
// would let overflow: such rows, good for nothing but gradient descent passing through, go the slow way.
Rule exponential_rule(double beta) noexcept;

}  // namespace sharpmax
