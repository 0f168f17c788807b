// Sums over the scores of one share, shared by the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/parts/split_row.h"

namespace sharpmax {

// The largest score: NaN if one is NaN or +inf, -inf if all are masked.
double largest_score(std::span<const double> scores);
// The larger of two such.
double larger_score(double a, double b);

// weights[i] = exp(beta * gap), gap = score - top rounded to float, as the rows of attend() have it. `top` is not below any
// score.
void weigh_gaps(std::span<const double> scores, double top, double beta, std::span<float> weights);

// Over the keys of a share that was weighed by weigh_gaps(), w the weight and g the gap. Masked keys add nothing.
struct GapSums {
  double sum = 0.0;     // of w over keys with a gap below 0
  double ties = 0.0;    // number of keys with gap 0
  double moment = 0.0;  // of w g
  double square = 0.0;  // of w g^2
};
GapSums gap_sums(std::span<const double> scores, double top, std::span<const float> weights);

// Sums over weights that are not exponentials of one temperature.
struct WeightSums {
  double mass = 0.0;
  double logs = 0.0;  // of w ln w
  double peak = 0.0;  // largest w

  void add(double weight);
  void scale(double factor);  // every weight times a positive factor, or 0
  void add(const WeightSums& other);

  // Of w / mass; 0 without mass.
  double entropy() const;
  double peak_weight() const;
};

// A key with its score or weight.
struct ScoredKey {
  double value = 0.0;
  std::int64_t key = 0;

  bool operator<(const ScoredKey& other) const {  // heavier first, ties by lowest key
    return value != other.value ? value > other.value : key < other.key;
  }
};
// The `count` heaviest unmasked keys of a share by `values`, heaviest first.
std::vector<ScoredKey> heaviest_keys(std::span<const double> values, const ShareScores& share, std::size_t count);
// The `count` heaviest of two such lists.
std::vector<ScoredKey> merged_keys(std::span<const ScoredKey> a, std::span<const ScoredKey> b, std::size_t count);
// Such a list among the numbers of a part: values and keys in turn.
std::vector<ScoredKey> keys_in(std::span<const double> numbers);
void put_keys(std::span<const ScoredKey> keys, std::vector<double>& numbers);

// One row each; see split_row().
std::unique_ptr<SplitRow> exponential_row(const Rule& rule);
std::unique_ptr<SplitRow> surveyed_row(const Rule& rule, const AnyNormalizer& normalizer, std::size_t head);
std::unique_ptr<SplitRow> target_row(const Rule& rule);
std::unique_ptr<SplitRow> top_row(const Rule& rule, std::int64_t n);
std::unique_ptr<SplitRow> threshold_row(const Rule& rule);
std::unique_ptr<SplitRow> pointwise_row(const Rule& rule, std::int64_t n);
std::unique_ptr<SplitRow> stick_row(bool keeps_shares);

}  // namespace sharpmax
