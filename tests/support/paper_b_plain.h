// Paper B's measures, written out: vectors themselves, every N anew, in double. Slow; what src/audit/analysis
// is compared with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "support/random.h"

namespace sharpmax::test {

using PlainVector = std::vector<double>;

struct PlainRow {
  std::vector<double> weights;       // [key]
  std::vector<PlainVector> vectors;  // x: [key, feature]

  std::size_t keys() const { return weights.size(); }
  PlainVector y(std::size_t i) const {
    PlainVector out = vectors[i];
    for (double& v : out) v *= weights[i];
    return out;
  }
};

inline double plain_distance(const PlainVector& a, const PlainVector& b) {
  double square = 0;
  for (std::size_t f = 0; f < a.size(); ++f) square += (a[f] - b[f]) * (a[f] - b[f]);
  return std::sqrt(square);
}

inline void plain_add(PlainVector& to, const PlainVector& more) {
  for (std::size_t f = 0; f < to.size(); ++f) to[f] += more[f];
}

inline double plain_length(const PlainVector& a) { return plain_distance(a, PlainVector(a.size())); }

// By a full sort, the lowest key first among equals.
inline std::vector<std::size_t> plain_top(const std::vector<double>& weights, std::size_t count) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weights[a] > weights[b]; });
  order.resize(count);
  return order;
}

inline bool taken_in(const std::vector<std::size_t>& selected, std::size_t key) {
  return std::find(selected.begin(), selected.end(), key) != selected.end();
}

inline PlainVector plain_selected(const PlainRow& row, const std::vector<std::size_t>& selected) {
  PlainVector s(row.vectors[0].size());
  for (const std::size_t i : selected) plain_add(s, row.y(i));
  return s;
}

// sum over i not selected of |s - y_i|
inline double plain_sum_distance(const PlainRow& row, const std::vector<std::size_t>& selected) {
  const PlainVector s = plain_selected(row, selected);
  double sum = 0;
  for (std::size_t i = 0; i < row.keys(); ++i)
    if (!taken_in(selected, i)) sum += plain_distance(s, row.y(i));
  return sum;
}

// |sum over i not selected of y_i - s|
inline double plain_norm_distance(const PlainRow& row, const std::vector<std::size_t>& selected) {
  PlainVector rest(row.vectors[0].size());
  for (std::size_t i = 0; i < row.keys(); ++i)
    if (!taken_in(selected, i)) plain_add(rest, row.y(i));
  return plain_distance(rest, plain_selected(row, selected));
}

inline double plain_separability(PlainRow row, std::size_t count) {
  for (auto& x : row.vectors) {
    const double length = plain_length(x);
    for (double& v : x) v = length > 0 ? v / length : 0.0;
  }
  const auto selected = plain_top(row.weights, count);
  const PlainVector s = plain_selected(row, selected);
  double r = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < row.keys(); ++i)
    if (!taken_in(selected, i)) r = std::min(r, plain_distance(s, row.y(i)));
  double nearer = 0;
  for (const std::size_t i : selected) nearer += plain_distance(s, row.y(i)) < r;
  return nearer / static_cast<double>(count);
}

inline std::vector<double> plain_softmax(std::vector<double> scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& e : scores) sum += e = std::exp(e - top);
  for (double& e : scores) e /= sum;
  return scores;
}

inline double plain_gradient(const std::vector<double>& scores, const std::vector<double>& direction,
                             double temperature, double step) {
  std::vector<double> before = scores, after = scores;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    before[i] /= temperature;
    after[i] = (scores[i] + step * direction[i]) / temperature;
  }
  return plain_distance(plain_softmax(before), plain_softmax(after)) / step;
}

// Every selection of `count` out of `all`.
template <class Body>
void for_each_selection(std::size_t all, std::size_t count, const Body& body) {
  std::vector<bool> in(all);
  std::fill(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count), true);
  do {
    std::vector<std::size_t> selected;
    for (std::size_t i = 0; i < all; ++i)
      if (in[i]) selected.push_back(i);
    body(selected);
  } while (std::prev_permutation(in.begin(), in.end()));
}

inline PlainRow random_plain_row(Random& random, std::size_t keys, std::size_t features, double spread) {
  PlainRow row{plain_softmax(random.row(keys, spread)), {}};
  for (std::size_t i = 0; i < keys; ++i) row.vectors.push_back(random.row(features, 1.0));
  return row;
}

}  // namespace sharpmax::test
