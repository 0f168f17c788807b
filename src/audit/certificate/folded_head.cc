#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/certificate/certificate.h"
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

// A norm gives gamma * u with |u| <= sqrt(n), n the features that it takes together. A turn mixes the two
// features of a pair, so for groups g (pairs, and features that are not turned)
//   |q . R k| <= sum_g max|gamma_q| |u_g| max|gamma_k| |v_g| <= sqrt(n_q n_k) max_g (max|gamma_q| max|gamma_k|).

namespace {

using Values = std::vector<double>;
constexpr double kOffsetsTried = 256;

// Queries, or keys, of one head.
struct Side {
  std::int64_t width = 0;
  Values rows;             // [normalized features, width]: the projection after the norm before it
  Values bias;             // [normalized features]
  Values gamma;            // [normalized features]
  std::int64_t first = 0;  // of the head's features among them
  double epsilon = 0.0;

  std::int64_t together() const { return static_cast<std::int64_t>(gamma.size()); }
  const double* row(std::int64_t i) const { return rows.data() + i * width; }
};

Side side_of(const model::Model& model, std::int64_t layer, bool key, std::int64_t head) {
  const model::Configuration& c = model.configuration();
  const model::LayerWeights& w = model.weights().layers[to_size(layer)];
  const bool fused = w.query_key_value.size() == 1, whole = c.query_key_norm == model::QueryKeyNorm::width;
  const model::Projection& projection = w.query_key_value[fused || !key ? 0 : 1];
  const std::int64_t own = head * c.head_width, before = fused && key ? c.query_width() : 0;
  const std::vector<float>& gamma = (key ? w.key_norm : w.query_norm)->scale;
  Side side{.width = c.width, .gamma = Values(gamma.begin(), gamma.end()), .first = whole ? own : 0,
            .epsilon = c.epsilon};
  std::vector<float> row(to_size(c.width));
  for (std::int64_t i = 0; i < side.together(); ++i) {
    const std::int64_t output = before + (whole ? i : own + i);
    unpack_row(projection.weight, output, row.data());
    for (std::int64_t j = 0; j < c.width; ++j)
      side.rows.push_back(static_cast<double>(row[to_size(j)]) *
                          (w.attention_norm ? static_cast<double>(w.attention_norm->scale[to_size(j)]) : 1.0));
    side.bias.push_back(projection.bias.empty() ? 0.0 : static_cast<double>(projection.bias[to_size(output)]));
  }
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!std::all_of(side.gamma.begin(), side.gamma.end(), is_finite) ||
      !std::all_of(side.rows.begin(), side.rows.end(), is_finite))
    throw Error(ErrorCode::bad_file, fmt::format("{}: the query and key weights of layer {}, head {} are not all finite",
                                                 model.name(), layer, head));
  return side;
}

// What the head makes of an input, normalized; [features].
Values image(const Side& side, const Values& input, std::int64_t features) {
  Values all;
  double squares = 0.0;
  for (std::int64_t i = 0; i < side.together(); ++i) {
    all.push_back(std::inner_product(input.begin(), input.end(), side.row(i), side.bias[to_size(i)]));
    squares += all.back() * all.back();
  }
  const double factor = 1.0 / std::sqrt(squares / static_cast<double>(side.together()) + side.epsilon);
  Values out;
  for (std::int64_t i = side.first; i < side.first + features; ++i)
    out.push_back(all[to_size(i)] * factor * side.gamma[to_size(i)]);
  return out;
}

// An input of the size that a norm leaves whose image in the head points along `wanted`, as far as its rows
// allow: rows^T (rows rows^T)^-1 wanted.
Values input_towards(const Side& side, Values wanted) {
  const auto features = static_cast<std::int64_t>(wanted.size());
  const Values rows(side.row(side.first), side.row(side.first) + features * side.width);
  const Symmetric gram = gram_of(rows, features, side.width);
  const Symmetric l = cholesky(gram, 1e-9 * gram.trace() / static_cast<double>(features)).lower;
  for (std::int64_t i = 0; i < features; ++i) {
    for (std::int64_t k = 0; k < i; ++k) wanted[to_size(i)] -= l(i, k) * wanted[to_size(k)];
    wanted[to_size(i)] /= l(i, i);
  }
  for (std::int64_t i = features - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < features; ++k) wanted[to_size(i)] -= l(k, i) * wanted[to_size(k)];
    wanted[to_size(i)] /= l(i, i);
  }
  Values input(to_size(side.width), 0.0);
  double squares = 0.0;
  for (std::int64_t j = 0; j < side.width; ++j) {
    for (std::int64_t i = 0; i < features; ++i) input[to_size(j)] += rows[to_size(i * side.width + j)] * wanted[to_size(i)];
    squares += input[to_size(j)] * input[to_size(j)];
  }
  const double factor = squares > 0 ? std::sqrt(static_cast<double>(side.width) / squares) : 0.0;
  for (double& x : input) x *= factor;
  return input;
}

// Places of the two features of every pair.
std::pair<std::int64_t, std::int64_t> pair_of(const model::Rope& rope, std::int64_t pair) {
  if (rope.pairs == model::RotationPairs::halves) return {pair, pair + rope.features / 2};
  return {2 * pair, 2 * pair + 1};
}

// Seen by a key `offset` tokens before it.
Values turned(const model::Rope& rope, Values query, double offset) {
  const model::RopeFrequencies f = model::rope_frequencies(rope);
  for (std::int64_t pair = 0; pair < rope.features / 2; ++pair) {
    const auto at = pair_of(rope, pair);
    double &x = query[to_size(at.first)], &y = query[to_size(at.second)];
    const double angle = offset * f.per_position[to_size(pair)];
    const double scale = f.magnitude * f.magnitude, old = x;
    x = scale * (x * std::cos(angle) - y * std::sin(angle));
    y = scale * (y * std::cos(angle) + old * std::sin(angle));
  }
  return query;
}

// The largest product of weights of a group, and the feature of the query that has it.
std::pair<double, std::int64_t> largest_group(const Side& query, const Side& key, const model::Rope& rope,
                                              std::int64_t features) {
  const auto size = [](const Side& side, std::int64_t i) { return std::abs(side.gamma[to_size(side.first + i)]); };
  std::pair<double, std::int64_t> best{0.0, 0};
  const double magnitude = rope.features > 0 ? model::rope_frequencies(rope).magnitude : 1.0;
  for (std::int64_t pair = 0; pair < rope.features / 2; ++pair) {
    const auto at = pair_of(rope, pair);
    const std::int64_t x = at.first, y = at.second;
    const double product = magnitude * magnitude * std::max(size(query, x), size(query, y)) *
                           std::max(size(key, x), size(key, y));
    if (product > best.first) best = {product, size(query, x) >= size(query, y) ? x : y};
  }
  for (std::int64_t i = rope.features; i < features; ++i)
    if (size(query, i) * size(key, i) > best.first) best = {size(query, i) * size(key, i), i};
  return best;
}

}  // namespace

NormalizedHead normalized_head(const model::Model& model, std::int64_t layer, std::int64_t head) {
  const model::Configuration& c = model.configuration();
  const model::Rope* const own = c.rope_of(layer, head);
  const model::Rope rope = own ? *own : model::Rope{};
  const Side query = side_of(model, layer, false, head);
  const Side key = side_of(model, layer, true, head / (c.heads / c.kv_heads));
  const auto best = largest_group(query, key, rope, c.head_width);
  const double scale = std::abs(c.attention_scale), features = static_cast<double>(c.head_width);
  const auto joined = static_cast<double>(std::max(query.together(), key.together()));
  // Norms, turns and the product in float, the key stored in float16.
  const double rounding = 1.0 + 2.0 * kHalf + kFloat * (4.0 * joined + 2.0 * features + 128.0);
  NormalizedHead out;
  out.bound = 2.0 * scale * best.first * rounding *
              std::sqrt(static_cast<double>(query.together()) * static_cast<double>(key.together()));

  Values along(to_size(c.head_width), 0.0);
  along[to_size(best.second)] = 1.0;
  const Values q = image(query, input_towards(query, along), c.head_width);
  const auto wanted_at = [&](double offset, double sign) {
    Values wanted = turned(rope, q, -offset);
    for (std::int64_t i = 0; i < c.head_width; ++i) wanted[to_size(i)] *= sign * key.gamma[to_size(key.first + i)];
    return wanted;
  };
  const auto score = [&](double offset, double sign) {
    const Values seen = turned(rope, q, -offset), wanted = wanted_at(offset, sign);
    const Values k = image(key, input_towards(key, wanted), c.head_width);
    const double raw = c.attention_scale * std::inner_product(seen.begin(), seen.end(), k.begin(), 0.0);
    return c.attention_cap > 0 ? c.attention_cap * std::tanh(raw / c.attention_cap) : raw;
  };
  const std::vector<double> best_offsets = [&] {  // where keys reach farthest
    std::vector<std::pair<double, double>> reach;
    for (double offset = 1; offset <= (rope.features > 0 ? kOffsetsTried : 2); ++offset) {
      const Values wanted = wanted_at(offset, 1.0);
      reach.emplace_back(-std::inner_product(wanted.begin(), wanted.end(), wanted.begin(), 0.0), offset);
    }
    std::sort(reach.begin(), reach.end());
    return std::vector{reach[0].second, reach[1].second};
  }();
  out.reached = std::max(0.0, score(best_offsets[0], 1.0) - score(best_offsets[1], -1.0));
  return out;
}

}  // namespace sharpmax::audit
