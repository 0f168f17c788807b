// Features of a set, summed under several rows of weights at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/blas.h"
#include "retrieval/head/folded.h"
#include "retrieval/task/task.h"
#include "retrieval/testing/item_kernels.h"

namespace sharpmax::retrieval {

// One thread's. Items whose weights are negligible in every row are passed over: together they are below the
// rounding of the sums.
class Pooler {
 public:
  // `layer`: null for a linear encoder. `rows`: the most rows of weights in one call.
  Pooler(const FoldedHead& head, const ItemLayer* layer, std::int64_t rows);

  // pooled: [row, item_features + 1], sum_i w_i [g_i; 1] for every row of weights: [row, item].
  void pool(const Set& set, Matrix<const float> weights, Matrix<double> pooled);
  // [g_i; 1] of one item: what pool() gives for a weight of 1 on it.
  void item(const Set& set, std::int64_t index, std::span<double> pooled);

 private:
  void pool_features(const Set& set, Matrix<const float> weights, Matrix<double> pooled);
  void pool_chunk(const Set& set, Matrix<const float> weights, Matrix<double> pooled);
  void pool_linear(const Set& set, Matrix<const float> weights, Matrix<double> pooled);

  const FoldedHead& head_;
  const ItemLayer* layer_;
  std::vector<std::uint8_t> used_;     // [item]: some row gives it weight that counts
  std::vector<std::int64_t> indices_;  // of the chunk's items
  std::vector<float> features_;        // [chunk, stride]
  std::vector<float> chunk_weights_;   // [row, chunk]
  std::vector<float> sums_;            // [row, stride]
};

}  // namespace sharpmax::retrieval
