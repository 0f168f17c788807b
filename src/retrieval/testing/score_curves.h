// Scores of many items from a few: for one query the score of an item of class c is a smooth curve in its
// priority, so the curve of each class is computed at Chebyshev nodes and its series summed for every item.
//
// As the nodes of folded.h, in double: the series errs by rounding, times what cancels in query . g. Worth it from a
// few items a node on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/blas.h"
#include "retrieval/head/folded.h"
#include "retrieval/task/task.h"
#include "retrieval/testing/item_kernels.h"

namespace sharpmax::retrieval {

class ScoreCurves {
 public:
  explicit ScoreCurves(const FoldedHead& head);  // of an mlp

  // Whether sets of n items are scored faster this way than item by item.
  bool worth_it(std::int64_t n) const noexcept { return n >= kItemsPerNode * nodes_ * classes_; }

  struct Workspace {
    std::vector<double> values, coefficients;  // [classes, nodes]
    std::vector<std::int64_t> begin;           // [classes + 1]: where a class's items lie once sorted
    std::vector<std::int64_t> order;           // [n]: sorted place of each item
    std::vector<double> priorities, scores;    // [n], sorted by class
  };
  // As score_items().
  void score(const ItemLayer& layer, std::span<const double> query, double query_bias, Items items,
             Workspace& workspace, std::span<double> scores) const;

  std::int64_t nodes() const noexcept { return nodes_; }

 private:
  static constexpr std::int64_t kItemsPerNode = 2;

  std::int64_t classes_, nodes_;
  std::vector<double> node_priorities_;     // [classes, nodes]
  std::vector<std::int32_t> node_classes_;  // likewise
  std::vector<double> transform_;           // [nodes, nodes]: coefficients from values
};

// Features of a set, summed under several rows of weights at once.

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
