// Inputs of property tests: drawn by counter, so a seed is all it takes to see a failure again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace sharpmax::test {

using Row = std::vector<double>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : numbers_(seed, /*stream=*/0) {}

  double uniform() {  // in [0, 1), 53 bits
    const auto bits = numbers_.bits(index_++);
    return static_cast<double>((std::uint64_t{bits[0]} << 21) ^ (bits[1] >> 11)) * 0x1p-53;
  }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double log_uniform(double low, double high) { return std::exp(uniform(std::log(low), std::log(high))); }
  std::size_t size(std::size_t low, std::size_t high) {  // both ends included
    return low + static_cast<std::size_t>(uniform() * static_cast<double>(high - low + 1));
  }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }
  Row row(std::size_t n, double spread) {
    Row row(n);
    for (double& e : row) e = spread * normal();
    return row;
  }
  // On the grid of 2^-20: differences, and sums with whole numbers, are exact.
  Row grid_row(std::size_t n, double spread) {
    Row row = this->row(n, spread);
    for (double& e : row) e = std::round(e * 0x1p20) * 0x1p-20;
    return row;
  }

 private:
  CounterRandom numbers_;
  std::uint64_t index_ = 0;
};

// Assertions that have failed in the running test so far.
inline int failures_so_far() {
  const ::testing::TestResult& result = *::testing::UnitTest::GetInstance()->current_test_info()->result();
  int failures = 0;
  for (int i = 0; i < result.total_part_count(); ++i) failures += result.GetTestPartResult(i).failed();
  return failures;
}

// As many cases as SHARPMAX_TEST_SCALE leaves of them, and at least one. All of them if it is not a number above 0.
inline std::uint64_t scaled(std::uint64_t cases) {
  const char* text = std::getenv("SHARPMAX_TEST_SCALE");
  const double scale = text ? std::strtod(text, nullptr) : 1.0;
  if (!(scale > 0.0)) return cases;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(scale * static_cast<double>(cases))));
}

// Runs body(Random&) for seeds 0 .. scaled(seeds) - 1. A failure names its seed and ends the loop.
template <class Body>
void for_each_seed(std::uint64_t seeds, const Body& body) {
  const int before = failures_so_far();
  seeds = scaled(seeds);
  for (std::uint64_t seed = 0; seed < seeds && failures_so_far() == before; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    body(random);
  }
}

}  // namespace sharpmax::test
