// Which N keys of a row are taken: those with most weight, or some drawn at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace sharpmax::audit {

// The keys of the `count` largest weights, largest first; of equal weights the lowest key first. The first N
// are the paper's I_N for every N up to count. Weights are finite.
void top_keys(std::span<const double> weights, std::int64_t count, std::vector<std::int32_t>& keys);

// The first `count` of a random order of `all` keys: the first N are a random selection for every N. The same
// for the same `row` of the same random numbers; rows do not share any as long as `count` is below 2^22.
void random_keys(const CounterRandom& random, std::uint64_t row, std::int64_t all, std::int64_t count,
                 std::vector<std::int32_t>& keys);

}  // namespace sharpmax::audit
