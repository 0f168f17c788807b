// Statistics of a row of attention, gathered in the pass that computes it.
//
// Every view is optional: leave it empty and its cost is not paid. Where weights do not sum
// to one (sink, sigmoid, ...), entropy, peak and support are those of w / sum w and the sum is
// `mass`. A row with every key masked has log-partition -inf, peak_key -1 and zeros.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sharpmax/tensor.h"

namespace sharpmax {

inline constexpr std::array<double, 8> kGapOctaves = {0.25, 0.5, 1, 2, 4, 8, 16, 32};

struct RowStatistics {
  // [batch, query_head, query]
  TensorView<double, 3> log_partition;      // of beta * score; NaN if there is none
  TensorView<double, 3> entropy;            // nats
  TensorView<double, 3> peak_weight;        // the largest weight, of w / sum w
  TensorView<std::int64_t, 3> peak_key;     // its key; of equal weights the lowest
  TensorView<double, 3> effective_support;  // exp(entropy)
  TensorView<std::int64_t, 3> support;      // keys with weight > 0
  TensorView<double, 3> mass;               // sum of weights before any division
  TensorView<double, 3> temperature;        // the beta used; NaN if there is none
  TensorView<double, 3> threshold;          // the tau used; NaN if there is none
  TensorView<double, 3> score_spread;       // largest less least score of the unmasked keys
  TensorView<double, 3> first_weight;       // of key 0, of w / sum w; 0 where the row does not see it

  // [batch, query_head, query, k]: the k heaviest keys, heaviest first, ties by lowest index.
  // Both or neither; rows with fewer keys end in key -1 and weight 0. Weights as used, not over sum.
  TensorView<std::int64_t, 4> top_keys;
  TensorView<double, 4> top_weights;

  // [batch, query_head, query, gaps.size()]: keys whose score is within gaps[i] of the largest.
  TensorView<std::int64_t, 4> gap_counts;
  std::span<const double> gaps = kGapOctaves;  // ascending, positive

  // [batch, query_head, key]: weights summed over queries.
  TensorView<double, 3> column_mass;
  // [batch, query_head, map_row, map_column]: weights summed over blocks of queries x keys. Row r
  // holds queries [ceil(r Q / R), ceil((r + 1) Q / R)), columns likewise.
  TensorView<double, 4> map;
};

// Which statistics a call should return; each is described at RowStatistics.
struct WantedStatistics {
  bool log_partition = false;
  bool entropy = false;
  bool peak_weight = false;
  bool peak_key = false;
  bool effective_support = false;
  bool support = false;
  bool mass = false;
  bool temperature = false;
  bool threshold = false;
  bool score_spread = false;
  bool first_weight = false;

  std::int64_t top = 0;  // number of heaviest keys per row: top_keys and top_weights
  bool gap_counts = false;
  std::span<const double> gaps = kGapOctaves;
  bool column_mass = false;
  Extents<2> map = {0, 0};  // map_row, map_column; zeros: no map
};

// Statistics that own their memory. Those that were not asked for are empty tensors.
struct OwnedStatistics {
  // rows: [batch, query_head, query, key]. Throws Error if `top` or a size of the map is negative.
  OwnedStatistics(const WantedStatistics& wanted, const Extents<4>& rows);
  OwnedStatistics() = default;

  RowStatistics views() noexcept;  // they refer to this object

  // [batch, query_head, query]
  Tensor<double, 3> log_partition;
  Tensor<double, 3> entropy;
  Tensor<double, 3> peak_weight;
  Tensor<std::int64_t, 3> peak_key;
  Tensor<double, 3> effective_support;
  Tensor<std::int64_t, 3> support;
  Tensor<double, 3> mass;
  Tensor<double, 3> temperature;
  Tensor<double, 3> threshold;
  Tensor<double, 3> score_spread;
  Tensor<double, 3> first_weight;

  Tensor<std::int64_t, 4> top_keys;    // [batch, query_head, query, top]
  Tensor<double, 4> top_weights;       // [batch, query_head, query, top]
  Tensor<std::int64_t, 4> gap_counts;  // [batch, query_head, query, gap]
  std::vector<double> gaps;
  Tensor<double, 3> column_mass;  // [batch, query_head, key]
  Tensor<double, 4> map;          // [batch, query_head, map_row, map_column]
};

// A statistic with one number per row: its name and its place in the three structs above.
template <class T>
struct RowStatistic {
  const char* path;  // "statistics.entropy": what errors call it
  bool WantedStatistics::*wish;
  TensorView<T, 3> RowStatistics::*view;
  Tensor<T, 3> OwnedStatistics::*tensor;

  // "entropy": on the command line, in files and in Python.
  constexpr const char* name() const { return path + sizeof("statistics.") - 1; }
};

// Calls visit(RowStatistic) for each, in the order of results. Checks of views, owning tensors, arrays of Python, files of
// the command line, benchmarks and tests go through this list.
template <class Visit>
void each_row_statistic(const Visit& visit) {
  using Wanted = WantedStatistics;
  using Views = RowStatistics;
  using Owned = OwnedStatistics;
  using Number = RowStatistic<double>;
  using Count = RowStatistic<std::int64_t>;
  visit(Number{"statistics.log_partition", &Wanted::log_partition, &Views::log_partition,
               &Owned::log_partition});
  visit(Number{"statistics.entropy", &Wanted::entropy, &Views::entropy, &Owned::entropy});
  visit(Number{"statistics.peak_weight", &Wanted::peak_weight, &Views::peak_weight, &Owned::peak_weight});
  visit(Count{"statistics.peak_key", &Wanted::peak_key, &Views::peak_key, &Owned::peak_key});
  visit(Number{"statistics.effective_support", &Wanted::effective_support, &Views::effective_support,
               &Owned::effective_support});
  visit(Count{"statistics.support", &Wanted::support, &Views::support, &Owned::support});
  visit(Number{"statistics.mass", &Wanted::mass, &Views::mass, &Owned::mass});
  visit(Number{"statistics.temperature", &Wanted::temperature, &Views::temperature, &Owned::temperature});
  visit(Number{"statistics.threshold", &Wanted::threshold, &Views::threshold, &Owned::threshold});
  visit(Number{"statistics.score_spread", &Wanted::score_spread, &Views::score_spread, &Owned::score_spread});
  visit(Number{"statistics.first_weight", &Wanted::first_weight, &Views::first_weight, &Owned::first_weight});
}

}  // namespace sharpmax
