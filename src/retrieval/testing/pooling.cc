#include "retrieval/testing/pooling.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace sharpmax::retrieval {
namespace {

// Items whose features are held at once: 256 kB at width 128. A sum in float runs over one chunk only.
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
