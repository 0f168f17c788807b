#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/certificate/certificate.h"
#include "audit/certificate/spectrum.h"
#include "base/numbers.h"
#include "model/product/product.h"
#include "model/transformer/rope.h"
#include "sharpmax/error.h"

// A norm gives gamma * u with |u| <= sqrt(n), n the features that it takes together. A turn mixes the two
// features of a pair, so for groups g (pairs, and features that are not turned)
//   |q . R k| <= sum_g max|gamma_q| |u_g| max|gamma_k| |v_g| <= sqrt(n_q n_k) max_g (max|gamma_q| max|gamma_k|).

namespace sharpmax::audit {
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
