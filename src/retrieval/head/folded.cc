#include "retrieval/head/folded.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/numbers.h"
#include "machine/blas.h"

namespace sharpmax::retrieval {
namespace {

Matrix<const double> matrix(const Head& head, Part part) {
  const PartShape shape = head.layout()[part];
  return {head.part(part).data(), shape.rows, shape.columns};
}

std::vector<double> copy_of(const Head& head, Part part) {
  const auto values = head.part(part);
  return {values.begin(), values.end()};
}

// [W b]: a linear layer as one matrix that acts on [features; 1].
std::vector<double> with_bias(const Head& head, Part weight, Part bias) {
  const Matrix<const double> w = matrix(head, weight);
  const auto b = head.part(bias);
  std::vector<double> joined;
  for (std::int64_t row = 0; row < w.rows; ++row) {
    joined.insert(joined.end(), w.data + row * w.columns, w.data + (row + 1) * w.columns);
    joined.push_back(b[to_size(row)]);
  }
  return joined;
}

std::vector<double> product(Matrix<const double> a, Matrix<const double> b, double alpha = 1.0) {
  std::vector<double> c(to_size(a.rows * b.columns));
  gemm(alpha, a, b, 0.0, Matrix<double>(c.data(), a.rows, b.columns));
  return c;
}

Matrix<const double> matrix(const std::vector<double>& values, std::int64_t rows) {
  return {values.data(), rows, static_cast<std::int64_t>(values.size()) / rows};
}

}  // namespace

double gelu(double x) noexcept { return x / (1.0 + std::exp(-kGeluRate * (x + kGeluCubic * x * x * x))); }

double gelu_slope(double x) noexcept {
  // s + x s (1 - s) u', with s the sigmoid of u; s (1 - s) from exp(-|u|), so that no infinity meets a zero.
  const double u = kGeluRate * (x + kGeluCubic * x * x * x);
  const double small = std::exp(-std::abs(u));
  const double s = (u < 0.0 ? small : 1.0) / (1.0 + small);
  const double bell = small / ((1.0 + small) * (1.0 + small));
  if (bell == 0.0) return s;
  return s + x * bell * kGeluRate * (1.0 + 3.0 * kGeluCubic * x * x);
}

FoldedHead::FoldedHead(const Head& head)
    : encoder(head.training.encoder),
      width(head.training.width),
      classes(head.training.classes),
      item_features(head.layout().item_features()),
      query_features(head.layout().query_features()),
      hidden_bias(copy_of(head, Part::hidden_bias)),
      out(copy_of(head, Part::out_weight)),
      out_bias(copy_of(head, Part::out_bias)) {
  const SerialBlas serial;
  if (encoder == Encoder::mlp) {
    const Matrix<const double> item_in = matrix(head, Part::item_in_weight);
    const auto item_bias = head.part(Part::item_in_bias);
    item_offset.resize(to_size(classes * width));
    for (std::int64_t j = 0; j < width; ++j) {
      item_slope.push_back(item_in.data[j * item_in.stride]);
      for (std::int64_t c = 0; c < classes; ++c)
        item_offset[to_size(c * width + j)] =
            item_in.data[j * item_in.stride + 1 + c] + item_bias[to_size(j)];
    }
    query_slope = copy_of(head, Part::query_in_weight);
    query_offset = copy_of(head, Part::query_in_bias);
  }
  const auto items = with_bias(head, Part::item_weight, Part::item_bias);
  const auto queries = with_bias(head, Part::query_weight, Part::query_bias);
  const auto keys_of_items = product(matrix(head, Part::w_k), matrix(items, width));
  const auto queries_of_scalars = product(matrix(head, Part::w_q), matrix(queries, width));
  const double scale = head.training.scale_scores ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
  score = product(transpose(matrix(keys_of_items, width)), matrix(queries_of_scalars, width), scale);
  const auto values_of_items = product(matrix(head, Part::w_v), matrix(items, width));
  hidden = product(matrix(head, Part::hidden_weight), matrix(values_of_items, width));
}

std::vector<double> FoldedHead::query_vector(double y) const {
  std::vector<double> h{y, 1.0};
  if (encoder == Encoder::mlp) {
    h.assign(to_size(width) + 1, 1.0);
    for (std::size_t j = 0; j < to_size(width); ++j) h[j] = gelu(query_slope[j] * y + query_offset[j]);
  }
  std::vector<double> t(to_size(item_features) + 1, 0.0);
  for (std::size_t i = 0; i < t.size(); ++i)
    for (std::size_t j = 0; j < h.size(); ++j) t[i] += score[i * h.size() + j] * h[j];
  return t;
}

void FoldedHead::read_out(std::span<const double> pooled, std::span<double> logits) const {
  std::copy(out_bias.begin(), out_bias.end(), logits.begin());
  for (std::size_t j = 0; j < to_size(width); ++j) {
    double sum = hidden_bias[j];
    for (std::size_t i = 0; i < pooled.size(); ++i) sum += hidden[j * pooled.size() + i] * pooled[i];
    const double active = gelu(sum);
    for (std::size_t c = 0; c < to_size(classes); ++c) logits[c] += out[c * to_size(width) + j] * active;
  }
}

namespace {

// The poles of 1 / (1 + exp(-u(x))) are where u = i pi (2k + 1); of all of them these are nearest to the real
// line: x = +-0.634 +- 2.755 i.
constexpr double kGeluStrip = 2.75;
// For M and 1 / (rho - 1), which the rate alone leaves out; tests/laws/query_nodes_laws.cc prints what is
// left.
constexpr std::int64_t kSpareNodes = 5;

constexpr double kMoreThanAnyBatch = 0x1p40;

double angle_of(std::int64_t k, std::int64_t r) {
  return std::numbers::pi * static_cast<double>(2 * k + 1) / static_cast<double>(2 * r);
}

}  // namespace

std::int64_t nodes_needed(double largest_slope, double unit_roundoff) {
  // [0, 1] is half as long as [-1, 1], so the ellipse's semi-minor axis is (rho - 1 / rho) / 4.
  const double half_minor = 2.0 * kGeluStrip / std::max(largest_slope, 1e-3);
  const double rho = half_minor + std::sqrt(half_minor * half_minor + 1.0);
  const double nodes =
      std::ceil(-std::log(unit_roundoff) / std::log(rho));  // without bound as the slope grows
  return static_cast<std::int64_t>(std::min(nodes, kMoreThanAnyBatch)) + kSpareNodes;
}

std::vector<double> chebyshev_nodes(std::int64_t r) {
  std::vector<double> nodes;
  for (std::int64_t k = 0; k < r; ++k) nodes.push_back(0.5 + 0.5 * std::cos(angle_of(k, r)));
  return nodes;
}

// The barycentric formula, stable for any r.
void interpolate_at(std::span<const double> nodes, double y, std::span<double> coefficients) {
  const auto r = static_cast<std::int64_t>(nodes.size());
  double sum = 0.0;
  for (std::int64_t k = 0; k < r; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const double distance = y - nodes[at];
    if (distance == 0.0) {
      std::fill(coefficients.begin(), coefficients.end(), 0.0);
      coefficients[at] = 1.0;
      return;
    }
    coefficients[at] = (k % 2 == 0 ? 1.0 : -1.0) * std::sin(angle_of(k, r)) / distance;
    sum += coefficients[at];
  }
  for (double& c : coefficients) c /= sum;
}

}  // namespace sharpmax::retrieval
