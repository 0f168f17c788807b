// The head: its parameters, and the small matrices that all its answers depend on.
//
//   item i      x_i = W_items g_i + b_items       g_i = GELU(W_in [rho_i, onehot_i] + b_in), or [rho_i,
//   onehot_i] query y     q = W_Q (W_query h + b_query)     h = GELU(w_in y + b_in), or y score       e_i =
//   scale q . (W_K x_i) read-out    logits = W_out GELU(W_hidden W_V sum_i w_i x_i + b_hidden) + b_out
//
// W_Q, W_K, W_V have no bias: the encoders' last bias already gives every map with one. GELU is the tanh
// form. Everything between g, h and the read-out's hidden layer is linear, so it is folded (folded.h) and no
// product with a width x width matrix is ever done item by item.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retrieval/task/task.h"

namespace sharpmax::retrieval {

// In the order in which they lie in memory, each row-major [rows, columns], rows = outputs.
enum class Part {
  item_in_weight,   // mlp: [width, 1 + classes]; linear: [0, 1 + classes]
  item_in_bias,     // mlp: [1, width]
  item_weight,      // [width, item_features]
  item_bias,        // [1, width]
  query_in_weight,  // mlp: [width, 1]
  query_in_bias,    // mlp: [1, width]
  query_weight,     // [width, query_features]
  query_bias,       // [1, width]
  w_q,              // [width, width]
  w_k,
  w_v,
  hidden_weight,  // [width, width]
  hidden_bias,    // [1, width]
  out_weight,     // [classes, width]
  out_bias,       // [1, classes]
};
inline constexpr std::size_t kParts = 15;
std::string_view name_of(Part part);  // "item_in.weight", "w_q", ...: the tensors' names in files

struct PartShape {
  std::int64_t offset = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t size() const noexcept { return rows * columns; }
};

// Where every part lies.
class Layout {
 public:
  Layout(Encoder encoder, std::int64_t width, std::int64_t classes);
  const PartShape& operator[](Part part) const noexcept { return parts_[static_cast<std::size_t>(part)]; }
  std::int64_t size() const noexcept { return size_; }
  std::int64_t item_features() const noexcept { return (*this)[Part::item_weight].columns; }
  std::int64_t query_features() const noexcept { return (*this)[Part::query_weight].columns; }

 private:
  std::array<PartShape, kParts> parts_;
  std::int64_t size_ = 0;
};

// Which parameters of the normalizer training learns, in definition order: those that have a gradient and a
// value (not those left to the rule). Softmax's beta is no more than a scale of the scores, which W_Q has
// already.
std::vector<bool> learned_parameters(const AnyNormalizer& normalizer);

// A trained head as it is kept: how it was trained, and its weights in the precision of training.
struct Head {
  std::string arm;
  TrainingSettings training;
  std::uint64_t seed = 0;
  std::vector<double> parameters;             // in Layout's order; floats widened if trained in single
  std::vector<double> normalizer_parameters;  // in definition order; those not learned are 0

  Layout layout() const { return {training.encoder, training.width, training.classes}; }
  std::span<const double> part(Part which) const;
  // training.normalizer with the learned values in place.
  AnyNormalizer normalizer() const;
};

// U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weights and biases alike.
std::vector<double> initial_parameters(const TrainingSettings& settings, std::uint64_t seed);

}  // namespace sharpmax::retrieval
