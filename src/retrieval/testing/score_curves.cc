#include "retrieval/testing/evaluation_block.h"

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

namespace {

// Items whose features are held together: 256 kB at width 128. A sum in float runs over one chunk only.
constexpr std::int64_t kChunk = 512;

// All weights of a row below this share of its largest, divided by n, add up to less than a fourth of a
// float's rounding of their sum.
constexpr float kNegligible = 0x1p-26f;

// An item counts unless every row's weight of it is negligible. NaN counts.
void mark_used(Matrix<const float> weights, std::span<std::uint8_t> used) {
  std::fill(used.begin(), used.end(), std::uint8_t{0});
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const float* const w = weights.data + row * weights.stride;
    float largest = 0.0f;
    for (std::size_t i = 0; i < used.size(); ++i) largest = std::max(largest, std::abs(w[i]));
    const float negligible = largest * kNegligible / static_cast<float>(used.size());
    for (std::size_t i = 0; i < used.size(); ++i)
      used[i] |= static_cast<std::uint8_t>(!(std::abs(w[i]) <= negligible));
  }
}

// In four parts, so that one addition need not wait for the last.
double sum_of(std::span<const float> values) {
  double parts[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) parts[k] += values[i + k];
  for (; i < values.size(); ++i) parts[0] += values[i];
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

}  // namespace

Pooler::Pooler(const FoldedHead& head, const ItemLayer* layer, std::int64_t rows)
    : head_(head), layer_(layer) {
  if (layer_ == nullptr) return;
  indices_.reserve(to_size(kChunk));
  features_.resize(to_size(kChunk) * layer_->stride);
  chunk_weights_.resize(to_size(rows * kChunk));
  sums_.resize(to_size(rows) * layer_->stride);
}

void Pooler::pool(const Set& set, Matrix<const float> weights, Matrix<double> pooled) {
  for (std::int64_t row = 0; row < pooled.rows; ++row)
    std::fill_n(pooled.data + row * pooled.stride, pooled.columns, 0.0);
  used_.resize(set.priorities.size());
  mark_used(weights, used_);
  layer_ == nullptr ? pool_linear(set, weights, pooled) : pool_features(set, weights, pooled);
}

void Pooler::pool_features(const Set& set, Matrix<const float> weights, Matrix<double> pooled) {
  indices_.clear();
  for (std::int64_t i = 0; i < set.size(); ++i) {
    if (used_[to_size(i)] == 0) continue;
    indices_.push_back(i);
    if (static_cast<std::int64_t>(indices_.size()) == kChunk) pool_chunk(set, weights, pooled);
  }
  if (!indices_.empty()) pool_chunk(set, weights, pooled);
}

void Pooler::pool_chunk(const Set& set, Matrix<const float> weights, Matrix<double> pooled) {
  const auto items = static_cast<std::int64_t>(indices_.size());
  const auto stride = static_cast<std::int64_t>(layer_->stride);
  features_of_items(*layer_, {set.priorities, set.classes}, indices_, features_);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const float* const from = weights.data + row * weights.stride;
    float* const to = chunk_weights_.data() + row * items;
    for (std::int64_t i = 0; i < items; ++i) to[i] = from[indices_[to_size(i)]];
    pooled.data[row * pooled.stride + head_.width] += sum_of({to, to_size(items)});
  }
  gemm(1.0f, Matrix<const float>(chunk_weights_.data(), weights.rows, items),
       Matrix<const float>(features_.data(), items, head_.width, stride), 0.0f,
       Matrix<float>(sums_.data(), weights.rows, head_.width, stride));
  for (std::int64_t row = 0; row < weights.rows; ++row)
    for (std::int64_t j = 0; j < head_.width; ++j)
      pooled.data[row * pooled.stride + j] += sums_[to_size(row * stride + j)];
  indices_.clear();
}

void Pooler::pool_linear(const Set& set, Matrix<const float> weights, Matrix<double> pooled) {
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const float* const w = weights.data + row * weights.stride;
    double* const sums = pooled.data + row * pooled.stride;  // [priority, classes..., 1]
    for (std::size_t i = 0; i < set.priorities.size(); ++i) {
      if (w[i] == 0.0f) continue;
      sums[0] += w[i] * set.priorities[i];
      sums[1 + set.classes[i]] += w[i];
    }
    for (std::int64_t c = 0; c < head_.classes; ++c) sums[1 + head_.classes] += sums[1 + c];
  }
}

void Pooler::item(const Set& set, std::int64_t index, std::span<double> pooled) {
  std::fill(pooled.begin(), pooled.end(), 0.0);
  pooled.back() = 1.0;
  if (layer_ == nullptr) {
    pooled[0] = set.priorities[to_size(index)];
    pooled[1 + to_size(set.classes[to_size(index)])] = 1.0;
    return;
  }
  features_of_items(*layer_, {set.priorities, set.classes}, std::span(&index, 1), features_);
  std::copy_n(features_.data(), head_.width, pooled.begin());
}

}  // namespace sharpmax::retrieval
