#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "cli/bench.h"
#include "cli/console.h"

namespace sharpmax::cli {
namespace {

constexpr std::uint64_t kSeed = 7;

std::vector<float> normal_array(std::int64_t count, std::uint64_t stream) {
  std::vector<float> out(static_cast<std::size_t>((count + 3) / 4 * 4));
  const CounterRandom random(kSeed, stream);
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const auto four = random.normals(i / 4);
    std::copy(four.begin(), four.end(), out.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return out;
}

}  // namespace

const char* name_of(Direction direction) noexcept {
  switch (direction) {
    case Direction::forward:
      return "forward";
    case Direction::backward:
      return "backward";
    case Direction::decode:
      break;
  }
  return "decode";
}

double BenchShape::pairs() const noexcept {
  const auto n = static_cast<double>(keys), q = static_cast<double>(queries());
  const double seen = causal && direction != Direction::decode ? q * (n + 1.0) / 2.0 : q * n;
  return seen * static_cast<double>(heads);
}

double BenchShape::operations() const noexcept {
  const double products = direction == Direction::backward ? 5.0 : 2.0;
  return products * 2.0 * static_cast<double>(features) * pairs();
}

double BenchShape::bytes() const noexcept {
  return 2.0 * sizeof(float) * static_cast<double>(kv_heads * keys * features);
}

BenchCase::BenchCase(const BenchShape& shape, const AnyNormalizer& normalizer)
    : shape_(shape), normalizer_(normalizer) {
  const std::int64_t rows = shape.heads * shape.queries();
  const std::int64_t d = shape.features;
  query_ = normal_array(rows * d, 0);
  key_ = normal_array(shape.kv_heads * shape.keys * d, 1);
  value_ = normal_array(shape.kv_heads * shape.keys * d, 2);
  out_.resize(static_cast<std::size_t>(rows * d));
  const Extents<4> many{1, shape.heads, shape.queries(), d}, few{1, shape.kv_heads, shape.keys, d};
  request_.query = TensorView<const float, 4>(query_.data(), many);
  request_.key = TensorView<const float, 4>(key_.data(), few);
  request_.value = TensorView<const float, 4>(value_.data(), few);
  request_.causal = shape.causal ? Causal::bottom_right : Causal::none;
  if (shape.direction == Direction::backward) {
    d_out_ = normal_array(rows * d, 3);
    d_query_.resize(query_.size());
    d_key_.resize(key_.size());
    d_value_.resize(value_.size());
  }
}

void BenchCase::run() {
  if (shape_.direction == Direction::backward) {
    run_backward(d_out_);
    return;
  }
  const Extents<4> many{1, shape_.heads, shape_.queries(), shape_.features};
  attend(request_, normalizer_, TensorView<float, 4>(out_.data(), many), nullptr,
         {.threads = shape_.threads});
}

void BenchCase::run_backward(const std::vector<float>& d_out) {
  AttentionGradients gradients;
  const auto view = [](std::vector<float>& into, const AnyTensor<4>& like) {
    return TensorView<float, 4>(into.data(), like.shape);
  };
  gradients.query = view(d_query_, request_.query);
  gradients.key = view(d_key_, request_.key);
  gradients.value = view(d_value_, request_.value);
  attend_backward(request_, normalizer_, TensorView<const float, 4>(d_out.data(), request_.query.shape),
                  gradients, {}, {.threads = shape_.threads});
}

// Outputs are compared before anything is timed: a few rows of a case against the oracle in double.
//
// Forward, an error may be twice that of the same rows written out plainly in float: sharp enough to notice
// one key left out of 131,072.
//
// Backward, and where a row cannot be written out from its scores (`linear`), it is held to a derived bound,
// which is far wider: about a thousand times what kernels show. With u = 2^-24, rounding errors of a sum of d
// products stay within c sqrt(d) u of the sum of their sizes but for a chance of 2 exp(-c^2 / 2) (Higham and
// Mary's probabilistic analysis), here c = 5. So a score is off by e = c sqrt(d + 2) u scale max_j sum_i |q_i
// k_ji|. Weights of temperature B then change by a factor within exp(+-2 B e); a threshold map moves at most
// twice e on each of the S keys it keeps. Summing n weighted values adds c sqrt(n + 8) u, the 8 for exp and
// division. So r = 2 L e + c sqrt(n + 8) u, L = max(1, B) S.

namespace {

constexpr double kUnit = 0x1p-24;

double rounding_of_sum(std::int64_t terms) {
  constexpr double kConfidence = 5.0;  // one sum in 130,000 may exceed it
  return kConfidence * std::sqrt(static_cast<double>(terms)) * kUnit;
}

// 0 ... count - 1 in an order of its own for every `stream`.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t stream) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const CounterRandom random(/*seed=*/11, stream);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.bits(i)[0] % i]);
  return order;
}

std::vector<double> widened(const float* from, std::int64_t count) { return {from, from + count}; }

double largest(const std::vector<double>& values) {
  double most = 0.0;
  for (const double v : values) most = std::max(most, std::fabs(v));
  return most;
}

}  // namespace

// One row in double: the keys it sees, and what the oracle makes of them.
struct BenchCase::Sample {
  std::int64_t keys = 0;
  std::vector<double> query, key, value, d_out;
  std::vector<double> out, d_query, d_key, d_value;
  double score_error = 0.0;
  double temperature = 0.0;
  double threshold = 0.0;
  std::int64_t support = 0;

  double relative_error() const {
    const double beta = std::isnan(temperature) ? 1.0 : std::max(1.0, std::fabs(temperature));
    const double kept = std::isnan(threshold) ? 1.0 : static_cast<double>(support);
    return 2.0 * beta * kept * score_error + rounding_of_sum(keys + 8);
  }
};

// `beta` not NaN: softmax at that temperature instead, for rules that search for theirs and may stop at
// any feasible one.
BenchCase::Sample BenchCase::oracle(std::int64_t head, std::int64_t query, double beta) const {
  pause();  // a row of a long case takes a while
  const std::int64_t d = shape_.features;
  Sample s;
  s.keys = shape_.causal ? query + 1 + shape_.keys - shape_.queries() : shape_.keys;
  const std::int64_t kv = head / (shape_.heads / shape_.kv_heads);
  const std::int64_t row = head * shape_.queries() + query;
  s.query = widened(query_.data() + row * d, d);
  s.key = widened(key_.data() + kv * shape_.keys * d, s.keys * d);
  s.value = widened(value_.data() + kv * shape_.keys * d, s.keys * d);
  s.out.resize(static_cast<std::size_t>(d));
  const double scale = 1.0 / std::sqrt(static_cast<double>(d));
  for (std::int64_t j = 0; j < s.keys; ++j) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < d; ++i) {
      sum += std::fabs(s.query[static_cast<std::size_t>(i)] * s.key[static_cast<std::size_t>(j * d + i)]);
    }
    s.score_error = std::max(s.score_error, rounding_of_sum(d + 2) * scale * sum);
  }
  const AnyNormalizer normalizer = std::isnan(beta) ? normalizer_ : AnyNormalizer(Softmax{.beta = beta});
  const Extents<4> one{1, 1, 1, d}, many{1, 1, s.keys, d};
  AttentionRequest request;
  request.query = TensorView<const double, 4>(s.query.data(), one);
  request.key = TensorView<const double, 4>(s.key.data(), many);
  request.value = TensorView<const double, 4>(s.value.data(), many);
  RowStatistics statistics;
  statistics.temperature = {&s.temperature, {1, 1, 1}};
  statistics.threshold = {&s.threshold, {1, 1, 1}};
  statistics.support = {&s.support, {1, 1, 1}};
  attend(request, normalizer, TensorView<double, 4>(s.out.data(), one), &statistics);
  if (shape_.direction != Direction::backward) return s;
  s.d_out = widened(d_out_.data() + row * d, d);
  s.d_query.resize(static_cast<std::size_t>(d));
  s.d_key.resize(s.key.size());
  s.d_value.resize(s.value.size());
  AttentionGradients gradients;
  gradients.query = TensorView<double, 4>(s.d_query.data(), one);
  gradients.key = TensorView<double, 4>(s.d_key.data(), many);
  gradients.value = TensorView<double, 4>(s.d_value.data(), many);
  attend_backward(request, normalizer, TensorView<const double, 4>(s.d_out.data(), one), gradients);
  return s;
}

BenchCase::Errors BenchCase::forward_check(std::int64_t head, std::int64_t query) const {
  const std::int64_t row = head * shape_.queries() + query;
  const bool searched = normalizer_.name() == "entropy_target" || normalizer_.name() == "peak_target";
  const double beta = searched ? temperature_[static_cast<std::size_t>(row)] : std::nan("");
  const Sample s = oracle(head, query, beta);
  Errors errors;
  for (std::int64_t i = 0; i < shape_.features; ++i) {
    const double error = std::fabs(out_[static_cast<std::size_t>(row * shape_.features + i)] -
                                   s.out[static_cast<std::size_t>(i)]);
    errors.ours = std::max(errors.ours, std::isnan(error) ? HUGE_VAL : error);
  }
  if (normalizer_.name() == "linear") {
    errors.allowed = s.relative_error() * largest(s.value);
  } else {
    constexpr double kTimesPlain = 2.0;  // the house's rule for every kernel
    const AnyNormalizer normalizer = std::isnan(beta) ? normalizer_ : AnyNormalizer(Softmax{.beta = beta});
    errors.allowed = kTimesPlain * error_of_plain_float(s, normalizer);
  }
  return errors;
}

// The row as anyone would write it: every score, weight and partial sum rounded to float. One order of
// summation is one draw of the error, and a sharp row hangs on a score or two: the worst of several orders.
double BenchCase::error_of_plain_float(const Sample& s, const AnyNormalizer& normalizer) const {
  constexpr std::uint64_t kOrders = 8;
  const auto d = static_cast<std::size_t>(shape_.features), n = static_cast<std::size_t>(s.keys);
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  const Extents<4> row{1, 1, 1, s.keys};
  std::vector<double> scores(n), weights(n);
  double worst = 0.0;
  for (std::uint64_t order = 0; order < kOrders; ++order) {
    const std::vector<std::size_t> features = shuffled(d, order), keys = shuffled(n, order);
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0.0f;
      for (const std::size_t i : features) {
        sum += static_cast<float>(s.query[i]) * static_cast<float>(s.key[j * d + i]);
      }
      scores[j] = sum * scale;
    }
    normalize(TensorView<const double, 4>(scores.data(), row), normalizer,
              TensorView<double, 4>(weights.data(), row));
    for (std::size_t i = 0; i < d; ++i) {
      float sum = 0.0f;
      for (const std::size_t j : keys)
        sum += static_cast<float>(weights[j]) * static_cast<float>(s.value[j * d + i]);
      worst = std::max(worst, std::fabs(sum - s.out[i]));
    }
  }
  return worst;
}

// Only the sampled rows carry a gradient, so the gradients of keys and values are theirs alone. One
// row per key-value head, so that rows do not add up.
double BenchCase::backward_check(const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
  const std::int64_t d = shape_.features;
  std::vector<float> d_out(d_out_.size(), 0.0f);
  for (const auto& [head, query] : rows) {
    const std::int64_t at = (head * shape_.queries() + query) * d;
    std::copy_n(d_out_.begin() + at, d, d_out.begin() + at);
  }
  run_backward(d_out);
  double worst = 0.0;
  for (const auto& [head, query] : rows) {
    const Sample s = oracle(head, query, std::nan(""));
    const double r = s.relative_error();
    double norm_d_out = 0.0, norm_value = 0.0;
    for (const double g : s.d_out) norm_d_out += std::fabs(g);
    norm_value = largest(s.value);
    const double d_weight = norm_d_out * norm_value;  // bounds any |dP|, its error the rounding of d terms
    const double d_score = (2.0 * r + 2.0 * rounding_of_sum(d + 2)) * d_weight;
    const double beta = std::isnan(s.temperature) ? 1.0 : std::max(1.0, std::fabs(s.temperature));
    const double kept = std::isnan(s.threshold) ? 1.0 : static_cast<double>(s.support);
    const double scale = beta * kept / std::sqrt(static_cast<double>(d));
    const auto compare = [&](const std::vector<float>& ours, std::int64_t at,
                             const std::vector<double>& wanted, double bound) {
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double error = std::fabs(ours[static_cast<std::size_t>(at) + i] - wanted[i]);
        worst = std::max(worst, std::isnan(error) ? HUGE_VAL : error / bound);
      }
    };
    const std::int64_t kv = head / (shape_.heads / shape_.kv_heads);
    compare(d_query_, (head * shape_.queries() + query) * d, s.d_query, scale * d_score * largest(s.key));
    compare(d_key_, kv * shape_.keys * d, s.d_key, scale * d_score * largest(s.query));
    compare(d_value_, kv * shape_.keys * d, s.d_value, r * largest(s.d_out));
  }
  return worst;
}

double BenchCase::error_over_bound() {
  const std::int64_t last_head = shape_.heads - 1, last = shape_.queries() - 1;
  if (shape_.direction == Direction::backward) {
    std::vector<std::pair<std::int64_t, std::int64_t>> rows{{0, last}};
    if (shape_.kv_heads > 1) rows.emplace_back(last_head, last / 2);
    return backward_check(rows);
  }
  const auto rows = static_cast<std::size_t>(shape_.heads * shape_.queries());
  temperature_.resize(rows);
  RowStatistics statistics;
  statistics.temperature = {temperature_.data(), {1, shape_.heads, shape_.queries()}};
  const Extents<4> many{1, shape_.heads, shape_.queries(), shape_.features};
  attend(request_, normalizer_, TensorView<float, 4>(out_.data(), many), &statistics,
         {.threads = shape_.threads});
  // The worst over all rows on either side: a single row's error is a matter of luck.
  Errors worst;
  for (const std::int64_t head : {std::int64_t{0}, last_head}) {
    for (const std::int64_t query : {std::int64_t{0}, last / 3, last}) {
      const Errors errors = forward_check(head, query);
      worst.ours = std::max(worst.ours, errors.ours);
      worst.allowed = std::max(worst.allowed, errors.allowed);
    }
  }
  return worst.ours == 0.0 ? 0.0 : worst.ours / worst.allowed;  // `hard` is exact both ways
}

}  // namespace sharpmax::cli
