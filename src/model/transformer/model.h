// A model, ready to run: its file, what it is, its weights and its tokenizer.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "model/architecture/architecture.h"
#include "model/file/model_file.h"
#include "model/product/product.h"
#include "model/tokenizer/tokenizer.h"
#include "model/transformer/normalizer_table.h"

namespace sharpmax::model {

// The weights of a model where its file has them; norms and biases, which are small, as floats.
struct NormWeights {
  std::vector<float> scale;  // [width of the normalized vector]
  std::vector<float> shift;  // empty: none
};

struct Projection {
  WeightMatrix weight;
  std::vector<float> bias;  // [outputs], empty: none
};

// One expert of a mixture: a feed-forward part of its own.
struct Expert {
  std::vector<Projection> inner;  // gate and up, or one that holds both
  Projection down;
};

struct MixtureWeights {
  Projection router;  // [experts, width]
  std::vector<Expert> experts;
};

struct LayerWeights {
  std::optional<NormWeights> attention_norm;
  std::vector<Projection> query_key_value;  // three, or one that holds all; outputs in that order
  std::optional<NormWeights> query_norm, key_norm;  // [head_width], or of all heads: QueryKeyNorm
  std::vector<float> sinks;  // [heads], logarithms of what the normalizer adds to a row's sum; empty: nothing
  Projection attention_out;
  std::optional<NormWeights> after_attention_norm;
  std::optional<NormWeights> feed_forward_norm;
  std::vector<Projection> inner;  // gate and up, one that holds both in that order, or up alone
  Projection down;
  std::optional<MixtureWeights> mixture;  // instead of inner and down
  std::optional<NormWeights> after_feed_forward_norm;
};

struct Weights {
  WeightMatrix embedding;                 // [vocabulary, width]
  std::optional<WeightMatrix> positions;  // [context, width], if they are learned
  std::vector<LayerWeights> layers;
  NormWeights final_norm;
  WeightMatrix head;  // [vocabulary, width]; the embedding where the two are tied
  std::vector<float> head_bias;  // [vocabulary], empty: none
};

// Views into `file`, which must outlive them. Every tensor's shape is checked against the configuration,
// whose vocabulary is filled in from the embedding.
Weights find_weights(const ModelFile& file, Configuration& configuration);

class Model {
 public:
  explicit Model(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_of(*file_); }
  const ModelFile& file() const noexcept { return *file_; }
  const Configuration& configuration() const noexcept { return configuration_; }
  const Weights& weights() const noexcept { return weights_; }
  // What every head was trained with: softmax, or a sink of its own.
  const NormalizerTable& own_normalizers() const noexcept { return own_normalizers_; }
  bool trained_with_softmax() const noexcept { return !sinks_; }
  // Made when first asked for: a model can run without one.
  const Tokenizer& tokenizer() const;

  void set_rope(const RopeScaling& scaling) { set_scaling(configuration_.rope, scaling); }
  void set_rope_base(double base) { configuration_.rope.base = base; }

 private:
  std::unique_ptr<const ModelFile> file_;
  Configuration configuration_;
  Weights weights_;
  NormalizerTable own_normalizers_;
  bool sinks_;  // some head has one
  std::unique_ptr<std::mutex> making_ = std::make_unique<std::mutex>();  // of the tokenizer, by several threads
  mutable std::unique_ptr<const Tokenizer> tokenizer_;
};

}  // namespace sharpmax::model
