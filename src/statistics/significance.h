// How sure a figure is: intervals of shares and means, and the paired t-test that paper A uses.
//
// What cannot be said is NaN: an interval of a mean of fewer than two values, a test of fewer than two pairs
// or of pairs that all differ by the same.
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace sharpmax
