#include "audit/certificate/certificate.h"

#include <fmt/format.h>

#include <cmath>

#include "base/numbers.h"
#include "model/product/product.h"
#include "model/transformer/rope.h"
#include "sharpmax/error.h"

namespace sharpmax::audit {
namespace {

constexpr double kLeastHalf = 0x1p-25;  // rounding of what float16 holds as a subnormal
// LayerNorm takes the mean off in float. While the mean is not thousands of standard deviations large, what
// is left of it is below this many of them.
constexpr double kMeanLeft = 1e-3;

// Where a row of a head's projection goes so that pairs are side by side.
std::int64_t place_of(const model::Rope& rope, std::int64_t feature) {
  const std::int64_t pairs = rope.features / 2;
  if (feature >= rope.features || rope.pairs == model::RotationPairs::interleaved) return feature;
  return feature < pairs ? 2 * feature : 2 * (feature - pairs) + 1;
}

struct Rows {
  const model::Projection* projection;
  std::int64_t first;
};

Rows rows_of(const model::LayerWeights& weights, std::int64_t part, std::int64_t before, std::int64_t first) {
  const bool together = weights.query_key_value.size() == 1;
  return {&weights.query_key_value[together ? 0 : to_size(part)], together ? before + first : first};
}

// Takes `shift` of the norm and the mean that LayerNorm removes into account.
void fold_row(const model::Configuration& c, const model::NormWeights& norm, const std::vector<float>& row,
              double* folded, double& offset, double& along_mean) {
  double mean = 0.0;
  for (std::int64_t i = 0; i < c.width; ++i) {
    const double weight = static_cast<double>(row[to_size(i)]);
    folded[i] = weight * static_cast<double>(norm.scale[to_size(i)]);
    mean += folded[i];
    if (!norm.shift.empty()) offset += weight * static_cast<double>(norm.shift[to_size(i)]);
  }
  along_mean = 0.0;
  if (c.norm != model::NormKind::layer) return;
  along_mean = std::abs(mean);
  mean /= static_cast<double>(c.width);
  for (std::int64_t i = 0; i < c.width; ++i) folded[i] -= mean;
}

// Sums of at most `width` terms in any order, in the norm and in the projection; the norm's own few
// operations; the turn's products and its rounded cosines.
double relative_rounding(const model::Configuration& c) {
  return kFloat * (2.0 * static_cast<double>(c.width) + 32.0);
}

double size_of(const double* x, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

// What the rotation does to all that is turned, but for the angle: YaRN's factor, and errors of the two
// features of a pair mixed.
void turn_into(FoldedSide& side, const model::Rope& rope, std::int64_t width) {
  if (rope.features == 0) return;
  const double magnitude = std::abs(model::rope_frequencies(rope).magnitude);
  for (std::int64_t i = 0; i < rope.features * width; ++i) side.matrix[to_size(i)] *= magnitude;
  for (std::int64_t i = 0; i < rope.features; ++i) side.offset[to_size(i)] *= magnitude;
  for (std::int64_t i = 0; i < rope.features; i += 2) {
    double &x = side.rounding[to_size(i)], &y = side.rounding[to_size(i + 1)];
    x = y = magnitude * (x + y);
  }
}

FoldedSide fold_side(const model::Configuration& c, const model::Rope& rope, const model::NormWeights& norm,
                     const Rows& rows, bool cached) {
  FoldedSide side;
  side.storage_error = cached ? kHalf : 0.0;
  side.matrix.resize(to_size(c.head_width * c.width));
  side.offset.resize(to_size(c.head_width));
  side.rounding.resize(to_size(c.head_width));
  std::vector<float> row(to_size(c.width));
  const double radius = std::sqrt(static_cast<double>(c.width));
  const double shift = [&] {
    double sum = 0.0;
    for (const float x : norm.shift) sum += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(sum);
  }();
  for (std::int64_t feature = 0; feature < c.head_width; ++feature) {
    const std::int64_t place = place_of(rope, feature), output = rows.first + feature;
    unpack_row(rows.projection->weight, output, row.data());
    double* const folded = side.matrix.data() + place * c.width;
    double along_mean = 0.0, weights = 0.0;
    double& offset = side.offset[to_size(place)];
    fold_row(c, norm, row, folded, offset, along_mean);
    for (const float x : row) weights += static_cast<double>(x) * static_cast<double>(x);
    const double bias =
        rows.projection->bias.empty() ? 0.0 : static_cast<double>(rows.projection->bias[to_size(output)]);
    offset += bias;
    const double largest = radius * (size_of(folded, c.width) + along_mean / radius) +
                           std::sqrt(weights) * shift + std::abs(bias);
    side.rounding[to_size(place)] = relative_rounding(c) * largest + kMeanLeft * along_mean;
    if (cached) side.rounding[to_size(place)] += kLeastHalf;
  }
  turn_into(side, rope, c.width);
  return side;
}

bool is_finite(const FoldedSide& side) {
  for (const double x : side.rounding)  // sums of squares of all that there is
    if (!std::isfinite(x)) return false;
  return true;
}

}  // namespace

FoldedHead fold_head(const model::Model& model, std::int64_t layer, std::int64_t head) {
  const model::Configuration& c = model.configuration();
  const model::LayerWeights& weights = model.weights().layers[to_size(layer)];
  const std::int64_t kv_head = head / (c.heads / c.kv_heads);
  const model::Rope* const turned = c.rope_of(layer, head);
  const model::Rope rope = turned ? *turned : model::Rope{};
  FoldedHead folded{.width = c.width, .features = c.head_width, .pairs = rope.features / 2};
  folded.radius = std::sqrt(static_cast<double>(c.width)) * (1.0 + 1e-12);
  folded.scale = std::abs(c.attention_scale);
  folded.cap = c.attention_cap;
  folded.dot_error = kFloat * static_cast<double>(c.head_width + 8);
  folded.query = fold_side(c, rope, *weights.attention_norm, rows_of(weights, 0, 0, head * c.head_width), false);
  folded.key = fold_side(c, rope, *weights.attention_norm,
                         rows_of(weights, 1, c.query_width(), kv_head * c.head_width), true);
  if (!is_finite(folded.query) || !is_finite(folded.key) || !std::isfinite(folded.scale))
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: the query and key weights of layer {}, head {} are not all finite",
                            model.name(), layer, head));
  return folded;
}

}  // namespace sharpmax::audit
