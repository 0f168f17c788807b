#include "audit/certificate/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/numbers.h"
#include "machine/blas.h"
#include "model/product/product.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

constexpr std::int64_t kTokens = 1024;  // taken through the projection together

void make_unit(const model::Configuration& c, const float* embedding, double* out) {
  const double width = static_cast<double>(c.width);
  double mean = 0.0, squares = 0.0;
  for (std::int64_t i = 0; i < c.width; ++i) mean += static_cast<double>(embedding[i]) / width;
  if (c.norm != model::NormKind::layer) mean = 0.0;
  for (std::int64_t i = 0; i < c.width; ++i) {
    out[i] = static_cast<double>(embedding[i]) - mean;
    squares += out[i] * out[i];
  }
  const double factor = 1.0 / std::sqrt(squares / width + c.epsilon);
  for (std::int64_t i = 0; i < c.width; ++i) out[i] *= factor;
}

}  // namespace

std::vector<double> unit_inputs(const model::Model& model, const std::vector<model::Token>& tokens) {
  const model::Configuration& c = model.configuration();
  std::vector<double> inputs(tokens.size() * to_size(c.width));
  std::vector<float> row(to_size(c.width));
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    unpack_row(model.weights().embedding, tokens[t], row.data());
    bool finite = true;
    for (float& x : row) {
      x *= static_cast<float>(c.embedding_scale);
      finite = finite && std::isfinite(x);
    }
    if (!finite)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: the embedding of token {} is not all finite", model.name(), tokens[t]));
    make_unit(c, row.data(), inputs.data() + t * to_size(c.width));
  }
  return inputs;
}

std::vector<double> project(const FoldedHead& head, const FoldedSide& side,
                            const std::vector<double>& inputs) {
  const auto count = static_cast<std::int64_t>(inputs.size()) / head.width;
  std::vector<double> out;
  for (std::int64_t i = 0; i < count; ++i) out.insert(out.end(), side.offset.begin(), side.offset.end());
  gemm(1.0, Matrix<const double>(inputs.data(), count, head.width),
       transpose(Matrix<const double>(side.matrix.data(), head.features, head.width)), 1.0,
       Matrix<double>(out.data(), count, head.features));
  return out;
}

Magnitudes magnitudes_of(const model::Model& model, const FoldedHead& head, const FoldedSide& side) {
  constexpr float kUp = 1.0f + 0x1p-22f;  // more than the rounding to float takes off
  const std::int64_t vocabulary = model.configuration().vocabulary, turned = 2 * head.pairs;
  Magnitudes m{vocabulary, head.pairs + head.features - turned, {}};
  m.values.reserve(to_size(m.count * m.groups));
  for (std::int64_t first = 0; first < vocabulary; first += kTokens) {
    std::vector<model::Token> tokens(to_size(std::min(kTokens, vocabulary - first)));
    std::iota(tokens.begin(), tokens.end(), static_cast<model::Token>(first));
    const std::vector<double> projected = project(head, side, unit_inputs(model, tokens));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      const double* const x = projected.data() + t * to_size(head.features);
      const auto add = [&](double size) {
        m.values.push_back(static_cast<float>(size * (1.0 + side.storage_error)) * kUp);
      };
      for (std::int64_t i = 0; i < turned; i += 2)
        add(std::hypot(x[i], x[i + 1]) +
            std::hypot(side.rounding[to_size(i)], side.rounding[to_size(i + 1)]));
      for (std::int64_t i = turned; i < head.features; ++i) add(std::abs(x[i]) + side.rounding[to_size(i)]);
    }
  }
  return m;
}

}  // namespace sharpmax::audit
