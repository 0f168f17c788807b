#include "retrieval/head/folded.h"

#include <cmath>

#include "base/numbers.h"
#include "machine/blas.h"
#include "retrieval/head/gelu_constants.h"

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

}  // namespace sharpmax::retrieval
