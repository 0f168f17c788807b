// The oracle: attention row by row in double, as the definitions say it and no faster. It is the
// specification that every kernel is compared with, and what float64 inputs run.
//
// It reads and writes every type. Memory grows with the number of keys, never with queries x keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "attention/oracle/elements.h"
#include "attention/rows/call.h"
#include "normalizer/definition.h"
#include "sharpmax/statistics.h"

namespace sharpmax::oracle {

void forward(const ForwardCall& call);
void backward(const BackwardCall& call);  // ignores call.saved: everything is computed again
void normalize(const NormalizeCall& call);
void normalize_backward(const NormalizeBackwardCall& call);

// What the oracle records of a row, straight from the definitions in sharpmax/statistics.h.
//
// A poisoned row records NaN; where only whole numbers can stand it has no keys (key -1, counts 0).

// One row after it was weighed. Element i of scores and weights is key keys.begin + i.
struct WeighedRow {
  KeyRange keys;
  std::span<const double> scores;  // -inf: masked
  std::span<const double> weights;
  RowFacts facts;
};

// Sets what is summed over rows (column_mass, map) to zero for one head.
void clear_sums(const RowStatistics& statistics, std::int64_t batch, std::int64_t head);

// `queries` x `keys` is the size of the whole head: what the map is a picture of. `order` is scratch
// of at least weights.size().
struct HeadSize {
  std::int64_t queries = 0, keys = 0;
};
void record_row(const RowStatistics& statistics, const RowIndex& at, const HeadSize& size,
                const WeighedRow& row, std::span<std::size_t> order);

// True when at least one view is present.
bool wants_anything(const RowStatistics& statistics);

// One row of the oracle: its scores from the request, its weights from the normalizer.

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
