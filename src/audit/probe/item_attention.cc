#include "audit/probe/item_attention.h"

#include <algorithm>
#include <span>

#include "audit/measure/row_fields.h"

namespace sharpmax::audit {
namespace {

// What one row adds to the signs of a head's kind. Nothing outside the first token: nothing near, no peak.
void add_signs(std::span<const double> weights, std::int64_t position, KindSigns& sums) {
  double sum = 0, near = 0, peak = 0;
  for (std::size_t key = 0; key < weights.size(); ++key) {
    sum += weights[key];
    if (key == 0) continue;
    peak = std::max(peak, weights[key]);
    if (position - static_cast<std::int64_t>(key) < kNear) near += weights[key];
  }
  const double outside = sum - weights[0];
  if (!(sum > 0)) return;
  sums.first += weights[0] / sum;
  if (!(outside > 0)) return;
  sums.near_outside += near / outside;
  sums.peak_outside += peak / outside;
}

}  // namespace

ItemAttention::ItemAttention(std::int64_t layers, std::int64_t heads)
    : heads_(heads),
      weight_(static_cast<std::size_t>(layers * heads)),
      first_(weight_.size()),
      signs_(weight_.size()) {}

void ItemAttention::watch(const WatchedRows& rows) {
  watched_ = rows;
  rows_ = 0;
  std::fill(weight_.begin(), weight_.end(), 0.0);
  std::fill(first_.begin(), first_.end(), 0.0);
  std::fill(signs_.begin(), signs_.end(), KindSigns{});
}

void ItemAttention::seen(const model::AttentionBlock& block) {
  const std::int64_t end = std::min(watched_.end - block.position, block.tokens);
  for (std::int64_t row = std::max<std::int64_t>(watched_.first - block.position, 0); row < end; ++row) {
    watch_row(block, row);
    if (block.layer == 0 && block.first_head == 0) ++rows_;
  }
}

// One row attends again, alone: the sum over its rows of what each key gets is then the row itself. So a
// window, a soft cap, the type of the cache and the normalizer are dealt with where they always are.
void ItemAttention::watch_row(const model::AttentionBlock& block, std::int64_t row) {
  AttentionRequest request = *block.request;
  const std::int64_t keys = block.position + row + 1, width = request.value.shape[3];
  request.query.data = static_cast<const float*>(request.query.data) + row * request.query.strides[2];
  request.query.shape[2] = 1;
  request.key.shape[2] = request.value.shape[2] = keys;
  mass_.assign(static_cast<std::size_t>(block.heads * keys), 0.0);
  out_.resize(static_cast<std::size_t>(block.heads * width));
  RowStatistics statistics;
  statistics.column_mass = TensorView<double, 3>(mass_.data(), {1, block.heads, keys});
  attend(request, *block.normalizer, TensorView<float, 4>(out_.data(), {1, block.heads, 1, width}),
         &statistics, {.threads = 1});
  for (std::int64_t head = 0; head < block.heads; ++head) {
    const double* const weights = mass_.data() + head * keys;
    const auto at = static_cast<std::size_t>(block.layer * heads_ + block.first_head + head);
    for (std::int64_t key = watched_.item_begin; key < std::min(watched_.item_end, keys); ++key)
      weight_[at] += weights[key];
    add_signs({weights, static_cast<std::size_t>(keys)}, keys - 1, signs_[at]);
    const std::int64_t peak = std::max_element(weights, weights + keys) - weights;
    first_[at] += peak >= watched_.item_begin && peak < watched_.item_end ? 1.0 : 0.0;
  }
}

std::vector<double> ItemAttention::item_weight() const {
  std::vector<double> mean = weight_;
  for (double& w : mean) w /= static_cast<double>(rows_);
  return mean;
}

std::vector<KindSigns> ItemAttention::signs() const {
  std::vector<KindSigns> means = signs_;
  for (KindSigns& s : means) {
    for (double* sum : {&s.first, &s.near_outside, &s.peak_outside}) *sum /= static_cast<double>(rows_);
  }
  return means;
}

std::vector<double> ItemAttention::item_first() const {
  std::vector<double> share = first_;
  for (double& s : share) s /= static_cast<double>(rows_);
  return share;
}

}  // namespace sharpmax::audit
