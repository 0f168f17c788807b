#include "attention/oracle_row.h"

#include <algorithm>
#include <cmath>

#include "attention/kernels.h"

namespace sharpmax::oracle {
namespace {

std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void map_features(std::span<double> row) {
  for (double& x : row) x = feature_map(x);
}

}  // namespace

Scratch::Scratch(const AttentionRequest& request)
    : query(to_size(request.query.shape[3])),
      d_query(query.size()),
      key(query.size()),
      value(to_size(request.value.shape[3])),
      out(value.size()),
      scores(to_size(request.key.shape[2])),
      weights(scores.size()),
      d_weights(scores.size()),
      d_scores(scores.size()),
      bias(scores.size()),
      cap_slopes(scores.size()),
      order(scores.size()) {}

SegmentCursor::SegmentCursor(std::span<const Segment> segments, std::int64_t batch) {
  const auto before = [](const Segment& s, std::int64_t b) { return s.batch < b; };
  const auto first = std::lower_bound(segments.begin(), segments.end(), batch, before);
  const auto last = std::lower_bound(first, segments.end(), batch + 1, before);
  segments_ = segments.subspan(static_cast<std::size_t>(first - segments.begin()),
                               static_cast<std::size_t>(last - first));
}

KeyRange SegmentCursor::visible(std::int64_t query) {
  while (!segments_.empty() && query >= segments_.front().query_end) segments_ = segments_.subspan(1);
  if (segments_.empty() || query < segments_.front().query_begin) return {};
  const KeyRange keys = segments_.front().visible(query);
  return keys.begin < keys.end ? keys : KeyRange{};
}

double feature_map(double x) { return x > 0.0 ? x + 1.0 : std::exp(x); }
double feature_map_slope(double x) { return x > 0.0 ? 1.0 : std::exp(x); }

double soft_capped(double score, double cap) { return cap * std::tanh(score / cap); }
double soft_cap_slope(double score, double cap) {
  const double inverse = 1.0 / std::cosh(score / cap);
  return inverse * inverse;
}

RowIndex key_row(const AttentionRequest& request, const RowIndex& query, std::int64_t first_key, std::size_t j) {
  const std::int64_t group = request.query.shape[1] / request.key.shape[1];
  return {query.batch, query.head / group, first_key + static_cast<std::int64_t>(j)};
}

void add_bias_and_mask(const AttentionRequest& request, const RowIndex& at, std::int64_t first_key,
                       std::span<double> scores, std::span<double> bias) {
  const Extents<4> whole = {request.query.shape[0], request.query.shape[1], request.query.shape[2],
                            request.key.shape[2]};
  if (request.bias.present()) {
    const AnyTensor<4> view = broadcast_to(request.bias, whole);
    read_row(view, at, bias);
    const double lowest = mask_bias(view.dtype);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const double b = bias[to_size(first_key) + j];
      scores[j] = b <= lowest ? kMasked : scores[j] + b;
    }
  }
  if (request.mask.present()) {
    const TensorView<const bool, 4> view = broadcast_to(request.mask, whole);
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const std::int64_t key = first_key + static_cast<std::int64_t>(j);
      if (!view(at.batch, at.head, at.row, key)) scores[j] = kMasked;
    }
  }
}

WeighedRow weigh(const AttentionRequest& request, const AnyNormalizer& normalizer, const RowIndex& at,
                 KeyRange keys, Scratch& scratch) {
  const bool linear = normalizer.definition().needs_queries_and_keys;
  const double scale = linear ? 1.0 : scale_of(request);
  const std::span<double> scores = std::span(scratch.scores).first(to_size(keys.end - keys.begin));
  const std::span<double> weights = std::span(scratch.weights).first(scores.size());
  read_row(request.query, at, scratch.query);
  if (linear) map_features(scratch.query);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    read_row(request.key, key_row(request, at, keys.begin, j), scratch.key);
    if (linear) map_features(scratch.key);
    scores[j] = scale * dot(scratch.query, scratch.key);
    scratch.cap_slopes[j] = 1.0;
    if (request.soft_cap > 0.0) {
      scratch.cap_slopes[j] = soft_cap_slope(scores[j], request.soft_cap);
      scores[j] = soft_capped(scores[j], request.soft_cap);
    }
  }
  add_bias_and_mask(request, at, keys.begin, scores, scratch.bias);
  const RowFacts facts = weigh_row(normalizer, to_size(at.head), scores, weights);
  return {keys, scores, weights, facts};
}

}  // namespace sharpmax::oracle
