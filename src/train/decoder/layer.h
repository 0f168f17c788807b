// One layer of a decoder: attention and feed-forward part, forward with what its backward needs, and
// backward.
//
// A layer reads all places and may give only the last ones (`queries`), as the last layer does: nobody asks
// for the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sharpmax/attention.h"
#include "sharpmax/train_settings.h"
#include "train/decoder/steps.h"
#include "train/task/task.h"

namespace sharpmax::train {

// Where the parameters of a decoder lie in one row of numbers, and what they are at the beginning.

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

template <class Real>
struct LayerWeights {
  const LayerParts* parts = nullptr;
  const Real* parameters = nullptr;
  Real* gradient = nullptr;  // null: forward only

  Matrix<const Real> weight(const Part& part) const {
    return {parameters + part.offset, part.rows, part.columns};
  }
  Matrix<Real> d_weight(const Part& part) const { return {gradient + part.offset, part.rows, part.columns}; }
};

struct LayerShape {
  std::int64_t sequences = 0, places = 0, queries = 0;
  std::int64_t rows() const noexcept { return sequences * places; }
  std::int64_t query_rows() const noexcept { return sequences * queries; }
};

// Normalizers of the heads of a layer that see everything: one for all of them, or one per head.
using LayerRule = std::vector<AnyNormalizer>;

// Neighbors among those heads that one call of attend() serves.
struct HeadRun {
  std::int64_t first = 0, count = 0;
  AnyNormalizer normalizer;
};
std::vector<HeadRun> runs_of(std::span<const AnyNormalizer> rule, std::int64_t heads);

template <class Real>
class Layer {
 public:
  // The layer with this index.
  Layer(const DecoderSettings& settings, std::int64_t index, int threads) : s_(settings), threads_(threads) {
    s_.local_heads = settings.local_heads_in(index);
  }

  // x: [sequence, place, width]. Prepares queries, keys and values; the normalizer does not matter yet.
  void project_in(const LayerWeights<Real>& weights, const Turns& turns, LayerShape shape, const Real* x);
  // The rest: [sequence, query, width], valid until the next call. rule: see LayerRule; before backward() it has one
  // normalizer.
  const Real* finish(const LayerWeights<Real>& weights, std::span<const AnyNormalizer> rule, const Real* x);

  // d_out: [sequence, query, width]. d_x: [sequence, place, width], overwritten. d_parameters: [parameter,
  // global head].
  void backward(const LayerWeights<Real>& weights, const Turns& turns, const AnyNormalizer& normalizer,
                const Real* x, const Real* d_out, Real* d_x, TensorView<double, 2> d_parameters);

  // Attention of some global heads at the last `queries` of the first `places` places over values of the caller's, with
  // its statistics. values: [sequence, place, target], of all places; out: [sequence, head of the run, query, target].
  void look(const HeadRun& run, std::int64_t places, std::int64_t queries, TensorView<const Real, 3> values,
            TensorView<Real, 4> out, const RowStatistics& statistics) const;

 private:
  struct Heads {
    std::int64_t first = 0, count = 0;
    bool local = false;
  };
  Heads local() const noexcept { return {0, s_.local_heads, true}; }
  Heads global() const noexcept { return {s_.local_heads, s_.global_heads(), false}; }
  std::int64_t inner() const noexcept { return s_.heads * s_.head_width; }
  AttentionRequest request_of(const Heads& heads) const;
  TensorView<Real, 4> heads_of(std::vector<Real>& rows, const Heads& heads, std::int64_t places,
                               std::int64_t stride, std::int64_t from = 0) const;
  void attend_group(const Heads& heads, const AnyNormalizer& normalizer);
  void attend_backward_group(const Heads& heads, const AnyNormalizer& normalizer,
                             TensorView<double, 2> d_parameters);
  void turn_rows(const Turns& turns, std::vector<Real>& rows, std::int64_t places, std::int64_t stride,
                 bool back) const;
  void feed_forward(const LayerWeights<Real>& weights);
  void feed_forward_backward(const LayerWeights<Real>& weights, const Real* d_out);
  void gather_tail(const Real* all, Real* tail) const;
  void add_tail(const Real* tail, Real* all) const;

  DecoderSettings s_;
  int threads_;
  LayerShape shape_;

  // Kept for backward. N: rows of all places, M: of queries.
  std::vector<Real> normed_, inverse_, tail_;       // [N, width], [N], [M, width] (empty if M = N)
  std::vector<Real> query_, key_value_, attended_;  // [M, inner], [N, 2 inner], [M, inner]
  Tensor<double, 3> log_partition_[2], temperature_[2];
  std::vector<Real> middle_, normed2_, inverse2_;       // [M, width], [M, width], [M]
  std::vector<Real> inner_, activated_, slopes_, out_;  // [M, up], [M, hidden], [M, hidden], [M, width]
  // Of backward alone.
  std::vector<Real> d_activated_, d_inner_, d_normed2_, d_middle_, d_attended_, d_query_, d_key_value_,
      d_normed_, d_tail_;
};

}  // namespace sharpmax::train
