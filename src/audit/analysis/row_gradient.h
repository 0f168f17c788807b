// How much weights move when scores do (paper B, corollary 3): g(T, e) = |w((l + e v) / T) - w(l / T)| / e
// for a random direction v of length 1, where w is the head's normalizer; softmax in the paper.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "sharpmax/normalizer.h"

namespace sharpmax::audit {

// v for a row of `keys` scores, from the random numbers of that row: length 1, uniform over directions.
void random_direction(const CounterRandom& random, std::uint64_t row, std::int64_t keys,
                      std::vector<double>& v);

struct GradientPlan {
  std::vector<double> temperatures;  // T > 0
  std::vector<double> steps;         // e > 0
};

class RowGradient {
 public:
  RowGradient(const GradientPlan& plan, const AnyNormalizer& normalizer);

  // out[temperature, step] += g. Scores are finite; a row that is not gives NaN.
  void add(std::span<const double> scores, std::span<const double> direction, std::span<double> out);

 private:
  void add_softmax(std::span<const double> scores, std::span<const double> direction, std::span<double> out);
  void add_any(std::span<const double> scores, std::span<const double> direction, std::span<double> out);

  const GradientPlan& plan_;
  AnyNormalizer normalizer_;
  bool softmax_;
  double beta_ = 1.0;
  std::vector<double> before_, after_, scores_, weights_;
};

}  // namespace sharpmax::audit
