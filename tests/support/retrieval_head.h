// Heads that were never trained, and the head's formulas item by item, unfolded, in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "retrieval/head/folded.h"
#include "retrieval/head/head.h"
#include "retrieval/task/task.h"

namespace sharpmax::test {

// `steepness` multiplies W_Q and W_K: a new head's scores hardly differ.
inline retrieval::Head random_head(retrieval::Encoder encoder, std::int64_t width, std::int64_t classes,
                                   std::uint64_t seed, double steepness = 20.0) {
  retrieval::Head head;
  head.training.encoder = encoder;
  head.training.width = width;
  head.training.classes = classes;
  head.seed = seed;
  head.parameters = retrieval::initial_parameters(head.training, seed);
  const auto multiply = [&](retrieval::Part part, double factor) {
    const retrieval::PartShape shape = head.layout()[part];
    for (std::int64_t i = shape.offset; i < shape.offset + shape.size(); ++i)
      head.parameters[static_cast<std::size_t>(i)] *= factor;
  };
  multiply(retrieval::Part::w_q, steepness);
  multiply(retrieval::Part::w_k, steepness);
  multiply(retrieval::Part::w_v, 8.0);  // so that answers differ from set to set
  if (encoder == retrieval::Encoder::mlp) multiply(retrieval::Part::item_in_weight, 2.0);
  return head;
}

// head.h's formulas as they stand there.
class PlainHead {
 public:
  using Vector = std::vector<double>;
  explicit PlainHead(const retrieval::Head& head) : head_(head), layout_(head.layout()) {}

  // [g_i; nothing]: what the last layer of the items' encoder sees.
  Vector item_features(double priority, std::int32_t which) const {
    Vector input(static_cast<std::size_t>(head_.training.classes) + 1, 0.0);
    input[0] = priority;
    input[1 + static_cast<std::size_t>(which)] = 1.0;
    if (head_.training.encoder == retrieval::Encoder::linear) return input;
    return activated(affine(retrieval::Part::item_in_weight, retrieval::Part::item_in_bias, input));
  }
  Vector item(double priority, std::int32_t which) const {
    return affine(retrieval::Part::item_weight, retrieval::Part::item_bias, item_features(priority, which));
  }
  Vector query(double y) const {
    Vector h{y};
    if (head_.training.encoder == retrieval::Encoder::mlp)
      h = activated(affine(retrieval::Part::query_in_weight, retrieval::Part::query_in_bias, h));
    return times(retrieval::Part::w_q, affine(retrieval::Part::query_weight, retrieval::Part::query_bias, h));
  }
  double score(const Vector& query, const Vector& item) const {
    const Vector key = times(retrieval::Part::w_k, item);
    double sum = 0.0;
    for (std::size_t i = 0; i < key.size(); ++i) sum += query[i] * key[i];
    return head_.training.scale_scores ? sum / std::sqrt(static_cast<double>(head_.training.width)) : sum;
  }
  Vector scores(const retrieval::Set& set) const {
    const Vector q = query(set.query);
    Vector all;
    for (std::size_t i = 0; i < set.priorities.size(); ++i)
      all.push_back(score(q, item(set.priorities[i], set.classes[i])));
    return all;
  }
  Vector logits(const retrieval::Set& set, std::span<const double> weights) const {
    Vector sum(static_cast<std::size_t>(head_.training.width), 0.0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (weights[i] == 0.0) continue;
      const Vector value = times(retrieval::Part::w_v, item(set.priorities[i], set.classes[i]));
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += weights[i] * value[j];
    }
    const Vector hidden =
        activated(affine(retrieval::Part::hidden_weight, retrieval::Part::hidden_bias, sum));
    return affine(retrieval::Part::out_weight, retrieval::Part::out_bias, hidden);
  }

 private:
  Vector times(retrieval::Part part, const Vector& x) const {
    const retrieval::PartShape shape = layout_[part];
    const auto w = head_.part(part);
    Vector y(static_cast<std::size_t>(shape.rows), 0.0);
    for (std::size_t r = 0; r < y.size(); ++r)
      for (std::size_t c = 0; c < x.size(); ++c) y[r] += w[r * x.size() + c] * x[c];
    return y;
  }
  Vector affine(retrieval::Part weight, retrieval::Part bias, const Vector& x) const {
    Vector y = times(weight, x);
    for (std::size_t r = 0; r < y.size(); ++r) y[r] += head_.part(bias)[r];
    return y;
  }
  static Vector activated(Vector x) {
    for (double& v : x) v = 0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v)));
    return x;
  }

  const retrieval::Head& head_;
  retrieval::Layout layout_;
};

}  // namespace sharpmax::test
