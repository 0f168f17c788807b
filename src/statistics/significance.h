// Certainty of a figure: intervals of shares and means, and the paired t-test that paper A uses.
//
// What cannot be said is NaN: an interval of a mean of fewer than two values, a test of fewer than two pairs
// or of pairs that all differ by the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sharpmax {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// Wilson's score interval of a share: right out of sets.
Interval share_interval(std::int64_t right, std::int64_t sets, double confidence = 0.95);

// Student's t interval of the mean of independent values, such as one a seed.
Interval mean_interval(std::span<const double> values, double confidence = 0.95);

// Interval of the median of independent values of any distribution, from their order: it holds the median
// with at least this confidence. NaN where so few cannot say: six are needed for 95 %.
Interval median_interval(std::span<const double> values, double confidence = 0.95);

double mean_of(std::span<const double> values);  // NaN of none

struct PairedTest {
  std::int64_t pairs = 0;
  double difference = 0.0;  // mean of second - first
  double t = 0.0;
  double p = 0.0;  // two-sided
};
// As many of either: first[i] and second[i] are of the same seed.
PairedTest paired_t_test(std::span<const double> first, std::span<const double> second);

// Two-sided p of the sign test, P(|B - n/2| >= |up - n/2|) for B binomial (n, 1/2), n = up + down; 1 if n is 0.
double sign_test(std::int64_t up, std::int64_t down);

// Numbers summed up by some of their quantiles.

// `count` quantiles, evenly spaced from the least to the largest, straight between neighbours. Of at least
// one value, and count >= 2.
inline std::vector<double> quantiles_of(std::vector<double> values, std::size_t count) {
  std::sort(values.begin(), values.end());
  std::vector<double> quantiles;
  for (std::size_t i = 0; i < count; ++i) {
    const double place =
        static_cast<double>(i) * static_cast<double>(values.size() - 1) / static_cast<double>(count - 1);
    const auto below = static_cast<std::size_t>(place), above = std::min(below + 1, values.size() - 1);
    quantiles.push_back(std::lerp(values[below], values[above], place - std::floor(place)));
  }
  return quantiles;
}

}  // namespace sharpmax
