// The scores of one head written out in double from a model's weights: hidden states in, scores out.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "model/product/product.h"
#include "model/transformer/model.h"
#include "model/transformer/rope.h"
#include "support/random.h"

namespace sharpmax::test {

struct PlainSide {
  std::vector<Row> rows;  // [feature][width]
  Row bias;
};

class PlainScores {
 public:
  PlainScores(const model::Model& model, std::int64_t layer, std::int64_t head)
      : c_(model.configuration()), norm_(*model.weights().layers[std::size_t(layer)].attention_norm) {
    const auto& parts = model.weights().layers[std::size_t(layer)].query_key_value;
    const std::int64_t kv = head * c_.kv_heads / c_.heads;
    const bool one = parts.size() == 1;
    query_ = take(parts[0], head * c_.head_width);
    key_ = take(parts[one ? 0 : 1], (one ? c_.query_width() : 0) + kv * c_.head_width);
    if (c_.rope.features > 0) frequencies_ = model::rope_frequencies(c_.rope);
  }

  Row normed(const Row& x) const {
    double mean = 0, squares = 0;
    for (const double v : x) mean += v / double(x.size());
    if (c_.norm != model::NormKind::layer) mean = 0;
    for (const double v : x) squares += (v - mean) * (v - mean);
    const double factor = 1.0 / std::sqrt(squares / double(x.size()) + c_.epsilon);
    Row out;
    for (std::size_t i = 0; i < x.size(); ++i)
      out.push_back((x[i] - mean) * factor * norm_.scale[i] + (norm_.shift.empty() ? 0.0 : norm_.shift[i]));
    return out;
  }
  Row query(const Row& x) const { return project(query_, normed(x)); }
  Row key(const Row& x) const { return project(key_, normed(x)); }

  // By the angle of `t` positions, as the forward pass turns a token at position t.
  Row turned(Row x, double t) const {
    const std::size_t pairs = std::size_t(c_.rope.features) / 2;
    const bool halves = c_.rope.pairs == model::RotationPairs::halves;
    for (std::size_t p = 0; p < pairs; ++p) {
      double &a = x[halves ? p : 2 * p], &b = x[halves ? p + pairs : 2 * p + 1];
      const auto z =
          std::complex(a, b) * std::polar(frequencies_.magnitude, t * frequencies_.per_position[p]);
      a = z.real(), b = z.imag();
    }
    return x;
  }
  // Before the cap, of a key `offset` tokens before the query.
  double score(const Row& q, const Row& k, std::int64_t offset) const {
    const Row a = turned(q, double(offset)), b = turned(k, 0);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return c_.attention_scale * sum;
  }
  double capped(double score) const {
    return c_.attention_cap > 0 ? c_.attention_cap * std::tanh(score / c_.attention_cap) : score;
  }

  // The input, of the norm's radius, whose query or key has the largest product with `direction`.
  Row best_input(bool of_query, const Row& direction) const {
    const PlainSide& side = of_query ? query_ : key_;
    Row u(std::size_t(c_.width), 0.0);
    for (std::size_t f = 0; f < side.rows.size(); ++f)
      for (std::size_t i = 0; i < u.size(); ++i) u[i] += direction[f] * side.rows[f][i] * norm_.scale[i];
    double mean = 0, squares = 0;
    for (const double v : u) mean += v / double(u.size());
    for (double& v : u) {
      v -= c_.norm == model::NormKind::layer ? mean : 0.0;
      squares += v * v;
    }
    for (double& v : u) v *= 1e3 / std::sqrt(squares);  // large, so that epsilon is nothing
    return u;
  }
  std::int64_t width() const { return c_.width; }
  bool turns() const { return c_.rope.features > 0; }

 private:
  PlainSide take(const model::Projection& part, std::int64_t first) const {
    PlainSide side;
    for (std::int64_t f = first; f < first + c_.head_width; ++f) {
      std::vector<float> row(std::size_t(c_.width));
      unpack_row(part.weight, f, row.data());
      side.rows.emplace_back(row.begin(), row.end());
      side.bias.push_back(part.bias.empty() ? 0.0 : part.bias[std::size_t(f)]);
    }
    return side;
  }
  static Row project(const PlainSide& side, const Row& x) {
    Row out = side.bias;
    for (std::size_t f = 0; f < out.size(); ++f)
      for (std::size_t i = 0; i < x.size(); ++i) out[f] += side.rows[f][i] * x[i];
    return out;
  }

  const model::Configuration& c_;
  const model::NormWeights& norm_;
  PlainSide query_, key_;
  model::RopeFrequencies frequencies_;
};

}  // namespace sharpmax::test
