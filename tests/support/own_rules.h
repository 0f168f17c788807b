// Rules that a caller could have written: members of the family again, as a text book has them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sharpmax/normalizer.h"

namespace sharpmax::test {

// d_scores = slope_j (d_weights_j - mean of d_weights by slopes): the Jacobian of softmax (slope w) and of
// sparsemax (slope 1 on its support).
inline void centred_gradient(std::span<const double> slopes, std::span<const double> d_weights,
                             std::span<double> d_scores) {
  double sum = 0.0, total = 0.0;
  for (std::size_t j = 0; j < slopes.size(); ++j) {
    sum += slopes[j];
    total += slopes[j] * d_weights[j];
  }
  for (std::size_t j = 0; j < slopes.size(); ++j) d_scores[j] = slopes[j] * (d_weights[j] - total / sum);
}

inline AnyNormalizer own_softmax() {
  return CustomNormalizer{
      .name = "own_softmax",
      .weigh =
          [](std::span<const double> scores, std::span<double> weights) {
            const double top = *std::max_element(scores.begin(), scores.end());
            double sum = 0.0;
            for (const double e : scores) sum += std::exp(e - top);
            for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = std::exp(scores[j] - top) / sum;
          },
      .backward =
          [](std::span<const double>, std::span<const double> weights, std::span<const double> d_weights,
             std::span<double> d_scores) { centred_gradient(weights, d_weights, d_scores); }};
}

inline AnyNormalizer own_sparsemax() {
  return CustomNormalizer{
      .name = "own_sparsemax",
      .weigh =
          [](std::span<const double> scores, std::span<double> weights) {
            std::vector<double> sorted(scores.begin(), scores.end());
            std::sort(sorted.begin(), sorted.end(), std::greater<>());
            double sum = 0.0, tau = 0.0;
            for (std::size_t k = 0; k < sorted.size(); ++k) {
              sum += sorted[k];
              const double candidate = (sum - 1.0) / static_cast<double>(k + 1);
              if (sorted[k] > candidate) tau = candidate;
            }
            // Keys outside of the support are left as they came: 0.
            for (std::size_t j = 0; j < scores.size(); ++j) {
              if (scores[j] > tau) weights[j] = scores[j] - tau;
            }
          },
      .backward =
          [](std::span<const double>, std::span<const double> weights, std::span<const double> d_weights,
             std::span<double> d_scores) {
            std::vector<double> slopes(weights.size());
            for (std::size_t j = 0; j < weights.size(); ++j) slopes[j] = weights[j] > 0.0 ? 1.0 : 0.0;
            centred_gradient(slopes, d_weights, d_scores);
          }};
}

inline std::vector<std::string> own_rules() { return {"own_softmax", "own_sparsemax"}; }

// What a test's text names: a rule from above, or a member of the family.
inline AnyNormalizer normalizer_named(const std::string& text) {
  if (text == "own_softmax") return own_softmax();
  if (text == "own_sparsemax") return own_sparsemax();
  return AnyNormalizer::parse(text);
}

// The member that a rule from above writes again; any other normalizer itself.
inline AnyNormalizer specification_of(const AnyNormalizer& normalizer) {
  if (normalizer.name() == "own_softmax") return Softmax{};
  if (normalizer.name() == "own_sparsemax") return Sparsemax{};
  return normalizer;
}

}  // namespace sharpmax::test
