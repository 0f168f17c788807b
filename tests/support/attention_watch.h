// What heads do while a small model runs: the widest row of each, written out in double.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/float16.h"
#include "model/architecture/architecture.h"
#include "model/transformer/session.h"
#include "support/random.h"

namespace sharpmax::test {

inline double element(const AnyTensor<4>& x, std::int64_t head, std::int64_t row, std::int64_t feature) {
  const std::int64_t at = head * x.strides[1] + row * x.strides[2] + feature * x.strides[3];
  if (x.dtype == DType::float16)
    return static_cast<double>(to_float(static_cast<const float16*>(x.data)[at]));
  return static_cast<double>(static_cast<const float*>(x.data)[at]);
}

// The widest row of each head, from what attend() is given.
class SpreadWatch : public model::AttentionObserver {
 public:
  explicit SpreadWatch(const model::Configuration& c)
      : c_(c), widest(static_cast<std::size_t>(c.layers * c.heads), 0.0), last_peak(widest) {}
  const RowStatistics* wanted(const model::AttentionBlock&) override { return nullptr; }
  void seen(const model::AttentionBlock& block) override {
    for (std::int64_t h = 0; h < block.heads; ++h)
      for (std::int64_t t = 0; t < block.tokens; ++t) see_row(block, h, t);
  }

 private:
  void see_row(const model::AttentionBlock& block, std::int64_t h, std::int64_t t) {
    const AttentionRequest& r = *block.request;
    const std::int64_t position = block.position + t, kv = h * r.key.shape[1] / block.heads;
    const std::int64_t window = c_.windows[static_cast<std::size_t>(block.layer)];
    Row scores;
    for (std::int64_t j = window > 0 ? std::max<std::int64_t>(0, position - window + 1) : 0; j <= position;
         ++j) {
      double dot = 0.0;
      for (std::int64_t f = 0; f < c_.head_width; ++f)
        dot += element(r.query, h, t, f) * element(r.key, kv, j, f);
      const double score = c_.attention_scale * dot;
      scores.push_back(c_.attention_cap > 0 ? c_.attention_cap * std::tanh(score / c_.attention_cap) : score);
    }
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
    double sum = 0.0;
    for (const double score : scores) sum += std::exp(score - *most);
    const auto index = static_cast<std::size_t>(block.layer * c_.heads + block.first_head + h);
    widest[index] = std::max(widest[index], *most - *least);
    last_peak[index] = 1.0 / sum;
  }
  const model::Configuration& c_;

 public:
  Row widest, last_peak;
};

}  // namespace sharpmax::test
