// Scores of many items from a few: for one query the score of an item of class c is a smooth curve in its
// priority, so the curve of each class is computed at Chebyshev nodes and its series summed for every item.
//
// As the nodes of folded.h, in double: the series errs by rounding, times what cancels in query . g. Worth it from a
// few items a node on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "retrieval/head/folded.h"
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

}  // namespace sharpmax::retrieval
