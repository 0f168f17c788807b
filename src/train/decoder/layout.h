// Where the parameters of a decoder lie in one row of numbers, and what they are at the beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sharpmax/train_settings.h"
#include "train/task/task.h"

namespace sharpmax::train {

// A tensor of parameters, [rows, columns]; a vector has one row.
struct Part {
  std::string name;  // as files have it
  std::int64_t offset = 0, rows = 0, columns = 0;
  std::int64_t size() const noexcept { return rows * columns; }
  bool is_matrix() const noexcept { return rows > 1; }
};

struct LayerParts {
  Part attention_norm, query, key_value, attention_out;  // key_value: the keys of all heads, then the values
  Part feed_forward_norm, up, down;                      // up of SwiGLU: gates, then values
};

class Layout {
 public:
  Layout(const DecoderSettings& settings, const TaskShape& task);

  std::int64_t size() const noexcept { return size_; }
  const Part& embedding() const noexcept { return embedding_; }
  const LayerParts& layer(std::int64_t index) const { return layers_[static_cast<std::size_t>(index)]; }
  const Part& final_norm() const noexcept { return final_norm_; }
  const Part& head() const noexcept { return head_; }
  std::vector<Part> parts() const;  // all, in the order of memory

 private:
  Part add(std::string name, std::int64_t rows, std::int64_t columns);

  std::int64_t size_ = 0;
  Part embedding_, final_norm_, head_;
  std::vector<LayerParts> layers_;
};

// Normal: embeddings of variance 1 over the tokens of a place, matrices of variance 1 / inputs, those that
// add to the residual stream a quarter of it. Norms are 1. A function of the seed alone.
std::vector<float> initial_parameters(const DecoderSettings& settings, const TaskShape& task,
                                      std::uint64_t seed);

}  // namespace sharpmax::train
