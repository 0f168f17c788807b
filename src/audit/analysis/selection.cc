#include "audit/analysis/selection.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace sharpmax::audit {
namespace {

void number(std::size_t all, std::vector<std::int32_t>& keys) {
  keys.resize(all);
  std::iota(keys.begin(), keys.end(), 0);
}

}  // namespace

void top_keys(std::span<const double> weights, std::int64_t count, std::vector<std::int32_t>& keys) {
  number(weights.size(), keys);
  const auto heavier = [&](std::int32_t a, std::int32_t b) {
    const double of_a = weights[static_cast<std::size_t>(a)], of_b = weights[static_cast<std::size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  };
  const auto last = keys.begin() + std::min(count, static_cast<std::int64_t>(keys.size()));
  if (last != keys.end()) std::nth_element(keys.begin(), last, keys.end(), heavier);
  std::sort(keys.begin(), last, heavier);
  keys.erase(last, keys.end());
}

void random_keys(const CounterRandom& random, std::uint64_t row, std::int64_t all, std::int64_t count,
                 std::vector<std::int32_t>& keys) {
  number(static_cast<std::size_t>(all), keys);
  count = std::min(count, all);
  std::array<std::uint32_t, 4> bits{};
  // Fisher and Yates, as far as wanted. A 32-bit draw scaled down favours no key by more than all / 2^32.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    if (at % 4 == 0) bits = random.bits((row << 20) + at / 4);
    const std::uint64_t left = static_cast<std::uint64_t>(all - i);
    const std::uint64_t other = at + ((bits[at % 4] * left) >> 32);
    std::swap(keys[at], keys[other]);
  }
  keys.resize(static_cast<std::size_t>(count));
}

}  // namespace sharpmax::audit
