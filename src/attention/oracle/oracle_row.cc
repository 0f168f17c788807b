#include "attention/oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "attention/rows/call.h"
#include "base/numbers.h"
#include "normalizer/definition.h"

namespace sharpmax::oracle {
namespace {

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

namespace {

void record_top(const RowStatistics& statistics, const RowIndex& at, const WeighedRow& row,
                std::span<std::size_t> order) {
  const bool poisoned = !row.weights.empty() && std::isnan(row.weights[0]);
  std::size_t unmasked = 0;
  for (std::size_t j = 0; j < row.scores.size() && !poisoned; ++j) {
    if (row.scores[j] != kMasked) order[unmasked++] = j;
  }
  const auto wanted = static_cast<std::size_t>(statistics.top_keys.shape[3]);
  const std::size_t found = std::min(wanted, unmasked);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(found),
                    order.begin() + static_cast<std::ptrdiff_t>(unmasked), [&](std::size_t a, std::size_t b) {
                      return row.weights[a] > row.weights[b] || (row.weights[a] == row.weights[b] && a < b);
                    });
  for (std::size_t i = 0; i < wanted; ++i) {
    const bool there = i < found;
    statistics.top_keys(at.batch, at.head, at.row, i) =
        there ? row.keys.begin + static_cast<std::int64_t>(order[i]) : -1;
    statistics.top_weights(at.batch, at.head, at.row, i) =
        there ? row.weights[order[i]] : (poisoned ? kNoValue : 0.0);
  }
}

void record_gaps(const RowStatistics& statistics, const RowIndex& at, const WeighedRow& row) {
  const bool poisoned = !row.weights.empty() && std::isnan(row.weights[0]);
  double top = kMasked;
  for (const double e : row.scores) top = std::max(top, e);
  for (std::size_t i = 0; i < statistics.gaps.size(); ++i) {
    std::int64_t count = 0;
    for (const double e : row.scores) count += e != kMasked && top - e <= statistics.gaps[i];
    statistics.gap_counts(at.batch, at.head, at.row, i) = poisoned ? 0 : count;
  }
}

// Poisoned rows have NaN weights, and NaN here too.
double spread_of(const WeighedRow& row) {
  if (!row.weights.empty() && std::isnan(row.weights[0])) return kNoValue;
  double top = kMasked, least = -kMasked;
  for (const double e : row.scores) {
    if (e == kMasked) continue;
    top = std::max(top, e);
    least = std::min(least, e);
  }
  return top == kMasked ? 0.0 : top - least;
}

// Block b of `blocks` over [0, size) is [ceil(b size / blocks), ceil((b + 1) size / blocks)).
std::int64_t block_of(std::int64_t index, std::int64_t blocks, std::int64_t size) {
  return index * blocks / size;
}

void add_to_sums(const RowStatistics& statistics, const RowIndex& at, const HeadSize& size, const WeighedRow& row) {
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const std::int64_t key = row.keys.begin + static_cast<std::int64_t>(j);
    if (statistics.column_mass.present()) statistics.column_mass(at.batch, at.head, key) += row.weights[j];
    if (statistics.map.present()) {
      statistics.map(at.batch, at.head, block_of(at.row, statistics.map.shape[2], size.queries),
                     block_of(key, statistics.map.shape[3], size.keys)) += row.weights[j];
    }
  }
}

template <class T, class U>
void put(const TensorView<T, 3>& view, const RowIndex& at, U value) {
  if (view.present()) view(at.batch, at.head, at.row) = static_cast<T>(value);
}

}  // namespace

void clear_sums(const RowStatistics& statistics, std::int64_t batch, std::int64_t head) {
  if (statistics.column_mass.present()) {
    for (std::int64_t j = 0; j < statistics.column_mass.shape[2]; ++j) statistics.column_mass(batch, head, j) = 0.0;
  }
  if (!statistics.map.present()) return;
  for (std::int64_t r = 0; r < statistics.map.shape[2]; ++r) {
    for (std::int64_t c = 0; c < statistics.map.shape[3]; ++c) statistics.map(batch, head, r, c) = 0.0;
  }
}

void record_row(const RowStatistics& statistics, const RowIndex& at, const HeadSize& size,
                const WeighedRow& row, std::span<std::size_t> order) {
  const Distribution d = distribution_of(row.scores, row.weights);
  put(statistics.log_partition, at, row.facts.log_partition);
  put(statistics.temperature, at, row.facts.temperature);
  put(statistics.threshold, at, row.facts.threshold);
  put(statistics.entropy, at, d.entropy);
  put(statistics.peak_weight, at, d.peak_weight);
  put(statistics.peak_key, at, d.peak == kNoKey ? -1 : row.keys.begin + static_cast<std::int64_t>(d.peak));
  put(statistics.effective_support, at, d.effective_support);
  put(statistics.support, at, d.support);
  put(statistics.mass, at, d.mass);
  put(statistics.score_spread, at, spread_of(row));
  const bool sees_first = row.keys.begin == 0 && !row.weights.empty() && d.mass != 0.0;
  put(statistics.first_weight, at, std::isnan(d.mass) ? d.mass : sees_first ? row.weights[0] / d.mass : 0.0);
  if (statistics.top_keys.present()) record_top(statistics, at, row, order);
  if (statistics.gap_counts.present()) record_gaps(statistics, at, row);
  if (statistics.column_mass.present() || statistics.map.present()) add_to_sums(statistics, at, size, row);
}

bool wants_anything(const RowStatistics& s) {
  bool wanted = s.top_keys.present() || s.gap_counts.present() || s.column_mass.present() || s.map.present();
  each_row_statistic([&](const auto& statistic) { wanted |= (s.*statistic.view).present(); });
  return wanted;
}

}  // namespace sharpmax::oracle
