// The largest inner product between two sets of vectors without negative entries, certified from above,
// without looking at all pairs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace sharpmax::audit {

struct Magnitudes {
  std::int64_t count = 0, groups = 0;
  std::vector<float> values;  // [count, groups], none negative
};

struct LargestProduct {
  double bound = 0.0;  // of every pair's product, rounding accounted for
  // Queries of the largest products that were seen, best first; at most as many as were asked for.
  std::vector<std::int64_t> queries;
};

// `advance` hears of the multiplications done or found needless; they add up to query.count * key.count *
// groups.
LargestProduct largest_product(const Magnitudes& query, const Magnitudes& key, std::int64_t wanted_queries,
                               const std::function<void(double)>& advance);

}  // namespace sharpmax::audit
