#include "audit/measure/row_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kGaps = static_cast<std::int64_t>(kGapOctaves.size());
constexpr std::int64_t kNumbers = 5;  // doubles of a row but for the heaviest weights

// Weights are floats: what lies outside a first token that takes all but this cannot be told from rounding.
constexpr double kLeastOutside = 1e-5;

}  // namespace

RowWatch::RowWatch(const model::Configuration& c, std::int64_t block,
                   std::vector<std::vector<std::int64_t>> wanted)
    : heads_(c.heads), block_(block) {
  for (auto& positions : wanted) {
    KeptRows& kept = kept_.emplace_back();
    kept.positions = std::move(positions);
    kept.values.assign(static_cast<std::size_t>(c.layers * c.heads) * kept.positions.size() * kRowFields,
                       std::numeric_limits<float>::quiet_NaN());
  }
  const auto rows = static_cast<std::size_t>(c.heads * block);
  doubles_.resize(rows * (kNumbers + kTopKeys));
  integers_.resize(rows * (1 + kTopKeys + kGaps));
}

bool RowWatch::in(const KeptRows& kept, const model::AttentionBlock& block) const {
  const auto next = std::lower_bound(kept.positions.begin(), kept.positions.end(), block.position);
  return next != kept.positions.end() && *next < block.position + block.tokens;
}

const RowStatistics* RowWatch::wanted(const model::AttentionBlock& block) {
  if (std::none_of(kept_.begin(), kept_.end(), [&](const KeptRows& kept) { return in(kept, block); }))
    return nullptr;
  const Extents<3> rows{1, block.heads, block.tokens};
  const std::int64_t count = block.heads * block.tokens;
  double* number = doubles_.data();
  for (auto* view :
       {&views_.entropy, &views_.peak_weight, &views_.mass, &views_.score_spread, &views_.first_weight}) {
    *view = TensorView<double, 3>(number, rows);
    number += count;
  }
  views_.top_weights = {number, {1, block.heads, block.tokens, kTopKeys}};
  views_.support = TensorView<std::int64_t, 3>(integers_.data(), rows);
  views_.top_keys = {integers_.data() + count, {1, block.heads, block.tokens, kTopKeys}};
  views_.gap_counts = {integers_.data() + count * (1 + kTopKeys), {1, block.heads, block.tokens, kGaps}};
  return &views_;
}

void RowWatch::seen(const model::AttentionBlock& block) {
  for (KeptRows& kept : kept_)
    if (in(kept, block)) keep(block, kept);
}

void RowWatch::keep(const model::AttentionBlock& block, KeptRows& kept) {
  const std::int64_t window = block.request->window.left;
  for (std::size_t i = 0; i < kept.positions.size(); ++i) {
    const std::int64_t position = kept.positions[i], query = position - block.position;
    if (query < 0 || query >= block.tokens) continue;
    for (std::int64_t head = 0; head < block.heads; ++head) {
      const auto place = static_cast<std::size_t>(block.layer * heads_ + block.first_head + head);
      float* const out = kept.values.data() + (place * kept.positions.size() + i) * kRowFields;
      fields_of(head, query, position, out);
      const std::int64_t keys = window >= 0 ? std::min(position, window) + 1 : position + 1;
      out[static_cast<std::size_t>(RowField::keys)] = static_cast<float>(keys);
    }
  }
}

void RowWatch::fields_of(std::int64_t head, std::int64_t query, std::int64_t position, float* out) const {
  const auto set = [&](RowField field, double value) {
    out[static_cast<std::size_t>(field)] = static_cast<float>(value);
  };
  const double mass = views_.mass(0, head, query), entropy = views_.entropy(0, head, query);
  const double first = views_.first_weight(0, head, query), outside = 1.0 - first;
  const bool any = outside > kLeastOutside;
  set(RowField::entropy, entropy);
  set(RowField::peak, views_.peak_weight(0, head, query));
  set(RowField::first, first);
  set(RowField::support, static_cast<double>(views_.support(0, head, query)));
  set(RowField::spread, views_.score_spread(0, head, query));
  // H = (1 - w) H_outside - (1 - w) ln(1 - w) - w ln w
  const double of_first = first > 0.0 ? first * std::log(first) : 0.0;
  set(RowField::entropy_outside,
      any ? std::max(0.0, (entropy + of_first) / outside + std::log(outside)) : kNaN);
  double peak = kNaN, distance = kNaN, near = 0.0;
  for (std::int64_t i = 0; i < kTopKeys; ++i) {
    const std::int64_t key = views_.top_keys(0, head, query, i);
    if (key <= 0) continue;  // the first token, or none
    const double weight = views_.top_weights(0, head, query, i) / mass / outside;
    if (std::isnan(peak)) {
      peak = std::min(weight, 1.0);
      distance = static_cast<double>(position - key);
    }
    if (position - key < kNear) near += weight;
  }
  set(RowField::peak_outside, any ? peak : kNaN);
  set(RowField::distance_outside, any ? distance : kNaN);
  set(RowField::near_outside, any ? std::min(near, 1.0) : kNaN);
  for (std::int64_t i = 0; i < kGaps; ++i)
    out[kPlainFields + static_cast<std::size_t>(i)] =
        static_cast<float>(views_.gap_counts(0, head, query, i));
}

}  // namespace sharpmax::audit
