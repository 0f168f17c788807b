// Someone who looks on while a model attends: for each layer, each block of tokens and each run of heads it
// sees queries, keys, values and the layer's input, and may ask attend() for statistics of the rows.
#pragma once

#include <cstdint>

#include "sharpmax/attention.h"

namespace sharpmax::model {

// What one call of attend() is about. Views are valid during the call.
struct AttentionBlock {
  std::int64_t layer = 0;
  std::int64_t first_head = 0, heads = 0;  // query heads of this call
  std::int64_t position = 0, tokens = 0;   // queries are those of tokens position .. position + tokens - 1
  // As attend() gets it: positions are turned in, keys and values are those of all tokens so far, causal
  // bottom-right. [1, heads, tokens, feature] and [1, kv_heads, position + tokens, feature].
  const AttentionRequest* request = nullptr;
  const AnyNormalizer* normalizer = nullptr;
  // What entered the layer, before its norm: [token, width] of the block.
  TensorView<const float, 2> hidden;
};

class AttentionObserver {
 public:
  virtual ~AttentionObserver() = default;
  // Before attend(): the statistics to fill, [1, heads, tokens, ...], or null for none. The last bits of the
  // model's output may depend on whether there are any.
  virtual const RowStatistics* wanted(const AttentionBlock& block) = 0;
  // After attend().
  virtual void seen(const AttentionBlock& block) = 0;
};

}  // namespace sharpmax::model
