// attend(): weights from queries and keys under any normalizer, values summed by them, in one
// fused pass that never holds a queries x keys matrix; and its gradient.
//
// Semantics every door shares: a row with every key masked gives output 0 and gradient 0; a NaN
// or +inf score poisons its own row and no other; a score of -inf is a mask; n is the number of
// unmasked keys. float64 inputs run the oracle: slow, exact, for gradient checks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sharpmax/normalizer.h"
#include "sharpmax/statistics.h"
#include "sharpmax/tensor.h"

namespace sharpmax {

enum class Causal {
  none,
  bottom_right,  // the last query sees every key
  top_left,      // the first query sees the first key (torch's is_causal)
};

// Keys from `left` before to `right` after the query's own position (aligned bottom-right, or
// top-left under Causal::top_left). Negative: no limit on that side.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = -1;
};

// All that a request says beside queries, keys and values.
struct AttentionOptions {
  // Broadcast over dimensions of size 1. [batch, query_head, query, key]
  TensorView<const bool, 4> mask = {};  // true: attend
  AnyTensor<4> bias = {};  // added to the scaled score; at or below half its type's lowest: a mask

  Causal causal = Causal::none;
  Window window = {};

  // One length per batch entry; keys (and queries) at and past it are not there. Empty: all.
  std::span<const std::int64_t> key_lengths = {};
  std::span<const std::int64_t> query_lengths = {};
  // Packed documents: ascending offsets, first 0, document i is [offsets[i], offsets[i + 1]). Both
  // or neither, of equal length; each document attends within itself only. Not with lengths.
  std::span<const std::int64_t> query_offsets = {};
  std::span<const std::int64_t> key_offsets = {};

  std::optional<double> scale = {};  // default 1 / sqrt(feature)
  // c > 0: a scaled score e becomes c tanh(e / c), before bias and masks, and that is the score of which
  // everything else here is about (an infinite e is +-c: it neither masks nor poisons). 0: none.
  double soft_cap = 0.0;
};

// One type for all three, or float32 queries over a cache of keys and values in a 16-bit type.
struct AttentionRequest : AttentionOptions {
  AttentionRequest() = default;
  AttentionRequest(AnyTensor<4> q, AnyTensor<4> k, AnyTensor<4> v, const AttentionOptions& options = {})
      : AttentionOptions(options), query(q), key(k), value(v) {}

  AnyTensor<4> query;  // [batch, query_head, query, feature]
  AnyTensor<4> key;    // [batch, kv_head, key, feature]; kv_head divides query_head
  AnyTensor<4> value;  // [batch, kv_head, key, value_feature]
};

struct Execution {
  int threads = 0;  // 0: what OpenMP would use. Results are bitwise the same for any number.
};

// out: [batch, query_head, query, value_feature], float32 or the inputs' type. `statistics` null: none.
void attend(const AttentionRequest& request, const AnyNormalizer& normalizer, AnyMutableTensor<4> out,
            const RowStatistics* statistics = nullptr, const Execution& execution = {});

// The same, returning memory of its own. Inputs are read where they are.
//
//   Tensor<float, 4> out = attend(query, key, value, Softmax{}, {.causal = Causal::bottom_right});
//   auto [output, statistics] = attend({query, key, value}, Softmax{}, WantedStatistics{.entropy = true});
struct AttentionResult {
  Tensor<float, 4> output;  // [batch, query_head, query, value_feature]
  OwnedStatistics statistics;
};
AttentionResult attend(const AttentionRequest& request, const AnyNormalizer& normalizer,
                       const WantedStatistics& wanted, const Execution& execution = {});
Tensor<float, 4> attend(AnyTensor<4> query, AnyTensor<4> key, AnyTensor<4> value,
                        const AnyNormalizer& normalizer, const AttentionOptions& options = {},
                        const Execution& execution = {});

// What a forward pass leaves for its backward. Both views, or neither: then it is computed again.
struct Saved {
  AnyTensor<4> out;                          // as attend() wrote it
  TensorView<const double, 3> log_partition;  // statistics.log_partition of the same call
  TensorView<const double, 3> temperature;    // statistics.temperature of the same call
};

// Gradients to compute; an empty view is left out. float32, or float64 with float64 inputs.
struct AttentionGradients {
  AnyMutableTensor<4> query;  // shapes of the inputs
  AnyMutableTensor<4> key;
  AnyMutableTensor<4> value;
  AnyMutableTensor<4> bias;  // broadcast dimensions are summed over
  // [parameter, query_head]: of every parameter in definition order, summed over all of a head's
  // rows (a scalar parameter's gradient is the sum over heads). Parameters without one get 0.
  TensorView<double, 2> parameters;
};

void attend_backward(const AttentionRequest& request, const AnyNormalizer& normalizer,
                     AnyTensor<4> d_out, const AttentionGradients& gradients, const Saved& saved = {},
                     const Execution& execution = {});

// The normalizer alone, over rows of scores. [batch, head, query, key], float32 or float64.
// A score of -inf is a masked key. column_mass and map work here too.
void normalize(AnyTensor<4> scores, const AnyNormalizer& normalizer, AnyMutableTensor<4> weights,
               const RowStatistics* statistics = nullptr, const Execution& execution = {});

// d_parameters as AttentionGradients::parameters, may be empty.
void normalize_backward(AnyTensor<4> scores, const AnyNormalizer& normalizer, AnyTensor<4> d_weights,
                        AnyMutableTensor<4> d_scores, TensorView<double, 2> d_parameters = {},
                        const Execution& execution = {});

// The same for one row. Sizes must agree, and a parameter must have one value.
std::vector<float> normalize(std::span<const float> scores, const AnyNormalizer& normalizer);
std::vector<double> normalize(std::span<const double> scores, const AnyNormalizer& normalizer);
void normalize(std::span<const float> scores, const AnyNormalizer& normalizer, std::span<float> weights);
void normalize(std::span<const double> scores, const AnyNormalizer& normalizer, std::span<double> weights);

// d_scores of one row.
std::vector<float> normalize_backward(std::span<const float> scores, const AnyNormalizer& normalizer,
                                      std::span<const float> d_weights);
std::vector<double> normalize_backward(std::span<const double> scores, const AnyNormalizer& normalizer,
                                       std::span<const double> d_weights);
void normalize_backward(std::span<const float> scores, const AnyNormalizer& normalizer,
                        std::span<const float> d_weights, std::span<float> d_scores);
void normalize_backward(std::span<const double> scores, const AnyNormalizer& normalizer,
                        std::span<const double> d_weights, std::span<double> d_scores);

}  // namespace sharpmax
