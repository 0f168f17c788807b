#include "retrieval/testing/score_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/numbers.h"
#include "machine/blas.h"
#include "retrieval/head/folded.h"

namespace sharpmax::retrieval {
namespace {

double largest_slope(const FoldedHead& head) {
  double largest = 0.0;
  for (const double slope : head.item_slope) largest = std::max(largest, std::abs(slope));
  return largest;
}

// Counting sort by class: begin, order and the priorities in their new places.
void sort_by_class(Items items, std::int64_t classes, ScoreCurves::Workspace& w) {
  w.begin.assign(to_size(classes + 1), 0);
  for (const std::int32_t c : items.classes) ++w.begin[to_size(c) + 1];
  for (std::size_t c = 0; c < to_size(classes); ++c) w.begin[c + 1] += w.begin[c];
  std::vector<std::int64_t> next(w.begin.begin(), w.begin.end() - 1);
  w.order.resize(items.classes.size());
  w.priorities.resize(items.classes.size());
  for (std::size_t i = 0; i < items.classes.size(); ++i) {
    const std::int64_t place = next[to_size(items.classes[i])]++;
    w.order[i] = place;
    w.priorities[to_size(place)] = items.priorities[i];
  }
}

}  // namespace

ScoreCurves::ScoreCurves(const FoldedHead& head)
    : classes_(head.classes),
      nodes_(nodes_needed(largest_slope(head), 0.5 * std::numeric_limits<double>::epsilon())) {
  constexpr std::int64_t kMostNodes = 1024;  // steeper curves are never worth it
  if (nodes_ > kMostNodes) {
    nodes_ = std::numeric_limits<std::int64_t>::max() / (kItemsPerNode * classes_);
    return;
  }
  const std::vector<double> nodes = chebyshev_nodes(nodes_);
  for (std::int64_t c = 0; c < classes_; ++c) {
    node_priorities_.insert(node_priorities_.end(), nodes.begin(), nodes.end());
    node_classes_.insert(node_classes_.end(), nodes.size(), static_cast<std::int32_t>(c));
  }
  // c_k = (2 - [k = 0]) / r sum_j f(x_j) cos(k (2 j + 1) pi / (2 r)); the angle is reduced first, exactly.
  for (std::int64_t k = 0; k < nodes_; ++k)
    for (std::int64_t j = 0; j < nodes_; ++j) {
      const std::int64_t turn = (k * (2 * j + 1)) % (4 * nodes_);
      const double cosine =
          std::cos(std::numbers::pi * static_cast<double>(turn) / static_cast<double>(2 * nodes_));
      transform_.push_back((k == 0 ? 1.0 : 2.0) / static_cast<double>(nodes_) * cosine);
    }
}

void ScoreCurves::score(const ItemLayer& layer, std::span<const double> query, double query_bias, Items items,
                        Workspace& w, std::span<double> scores) const {
  w.values.resize(to_size(classes_ * nodes_));
  w.coefficients.resize(w.values.size());
  w.scores.resize(scores.size());
  score_items(layer, query, query_bias, {node_priorities_, node_classes_}, w.values);
  gemm(1.0, Matrix<const double>(w.values.data(), classes_, nodes_),
       transpose(Matrix<const double>(transform_.data(), nodes_, nodes_)), 0.0,
       Matrix<double>(w.coefficients.data(), classes_, nodes_));
  sort_by_class(items, classes_, w);
  for (std::int64_t c = 0; c < classes_; ++c) {
    const std::size_t first = to_size(w.begin[to_size(c)]), count = to_size(w.begin[to_size(c) + 1]) - first;
    chebyshev_series(std::span(w.coefficients).subspan(to_size(c * nodes_), to_size(nodes_)),
                     std::span<const double>(w.priorities).subspan(first, count),
                     std::span(w.scores).subspan(first, count));
  }
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = w.scores[to_size(w.order[i])];
}

}  // namespace sharpmax::retrieval
