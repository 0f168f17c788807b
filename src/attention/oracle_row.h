// One row of the oracle: its scores from the request, its weights from the normalizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attention/elements.h"
#include "attention/oracle_statistics.h"
#include "attention/segments.h"

namespace sharpmax::oracle {

inline constexpr double kMasked = -std::numeric_limits<double>::infinity();

// One per thread, sized once.
struct Scratch {
  explicit Scratch(const AttentionRequest& request);

  std::vector<double> query, d_query, key;  // [feature]
  std::vector<double> value, out;           // [value_feature]
  std::vector<double> scores, weights, d_weights, d_scores, bias;  // [key]
  std::vector<double> cap_slopes;                                  // [key]: of the soft cap; 1 without
  std::vector<std::size_t> order;                                  // [key]
};

// Hands out the keys that each query sees; queries must be asked for in ascending order.
class SegmentCursor {
 public:
  SegmentCursor(std::span<const Segment> segments, std::int64_t batch);
  KeyRange visible(std::int64_t query);

 private:
  std::span<const Segment> segments_;  // of this batch entry
};

// phi = elu + 1 of `linear`, and its slope.
double feature_map(double x);
double feature_map_slope(double x);

// Row of the key and value tensors that holds the j-th key of a row.
RowIndex key_row(const AttentionRequest& request, const RowIndex& query, std::int64_t first_key, std::size_t j);

// Adds the bias and applies the mask to the scores of keys first_key, first_key + 1, ... A masked key
// is -inf whatever else it would be, NaN included. `bias` is scratch of the size of all keys.
void add_bias_and_mask(const AttentionRequest& request, const RowIndex& at, std::int64_t first_key,
                       std::span<double> scores, std::span<double> bias);

// c tanh(e / c), and its slope.
double soft_capped(double score, double cap);
double soft_cap_slope(double score, double cap);

// Scores and weights of one row. scratch.query is left holding the query, mapped for `linear`, and
// scratch.cap_slopes the slope of each key's cap.
WeighedRow weigh(const AttentionRequest& request, const AnyNormalizer& normalizer, const RowIndex& at,
                 KeyRange keys, Scratch& scratch);

}  // namespace sharpmax::oracle
