// The weights of a model where its file has them; norms and biases, which are small, as floats.
#pragma once

#include <optional>
#include <vector>

#include "model/architecture/architecture.h"
#include "model/product/product.h"

namespace sharpmax::model {

struct NormWeights {
  std::vector<float> scale;  // [width]
  std::vector<float> shift;  // empty: none
};

struct Projection {
  WeightMatrix weight;
  std::vector<float> bias;  // [outputs], empty: none
};

struct LayerWeights {
  NormWeights attention_norm;
  std::vector<Projection> query_key_value;  // three, or one that holds all; outputs in that order
  Projection attention_out;
  std::optional<NormWeights> after_attention_norm;
  NormWeights feed_forward_norm;
  std::vector<Projection> inner;  // gate and up, or up alone
  Projection down;
  std::optional<NormWeights> after_feed_forward_norm;
};

struct Weights {
  WeightMatrix embedding;                 // [vocabulary, width]
  std::optional<WeightMatrix> positions;  // [context, width], where they are learned
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  WeightMatrix head;  // [vocabulary, width]; the embedding where the two are tied
};

// Views into `file`, which must outlive them. Every tensor's shape is checked against the configuration,
// whose vocabulary is filled in from the embedding.
Weights find_weights(const ModelFile& file, Configuration& configuration);

}  // namespace sharpmax::model
