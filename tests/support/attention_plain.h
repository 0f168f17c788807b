// Attention as anyone would write it in float: the oracle's loops with every product, sum, score,
// weight and gradient rounded to float. Its error against the oracle is the yardstick for kernels.
#pragma once

#include <cmath>
#include <vector>

#include "attention/rows/call.h"
#include "attention/oracle/oracle.h"
#include "normalizer/definition.h"
#include "support/attention_cases.h"

namespace sharpmax::test {

inline std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

inline void round_to_float(std::span<double> row) {
  for (double& x : row) x = static_cast<float>(x);
}

inline double float_dot(std::span<const double> a, std::span<const double> b) {
  float sum = 0.0f;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<float>(a[i]) * static_cast<float>(b[i]);
  return sum;
}

// Calls row(at, visible keys) for every row of the problem.
template <class F>
void for_each_row(const AttentionProblem& problem, const F& row) {
  const Extents<4>& shape = problem.request.query.shape;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      sharpmax::oracle::SegmentCursor cursor(problem.segments, b);
      for (std::int64_t q = 0; q < shape[2]; ++q) row(RowIndex{b, h, q}, cursor.visible(q));
    }
  }
}

inline sharpmax::oracle::WeighedRow plain_weigh(const AttentionRequest& request, const AnyNormalizer& normalizer,
                                      const RowIndex& at, KeyRange keys, sharpmax::oracle::Scratch& scratch) {
  const bool linear = normalizer.definition().needs_queries_and_keys;
  const float scale = linear ? 1.0f : static_cast<float>(scale_of(request));
  const auto map = [&](std::span<double> row) {
    for (double& x : row) x = linear ? static_cast<float>(sharpmax::oracle::feature_map(x)) : x;
  };
  const std::span<double> scores = std::span(scratch.scores).first(to_size(keys.end - keys.begin));
  const std::span<double> weights = std::span(scratch.weights).first(scores.size());
  read_row(request.query, at, scratch.query);
  map(scratch.query);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    read_row(request.key, sharpmax::oracle::key_row(request, at, keys.begin, j), scratch.key);
    map(scratch.key);
    scores[j] = scale * static_cast<float>(float_dot(scratch.query, scratch.key));
    scratch.cap_slopes[j] = 1.0;
    if (request.soft_cap > 0.0) {
      const float cap = static_cast<float>(request.soft_cap);
      const float t = std::tanh(static_cast<float>(scores[j]) / cap);
      scratch.cap_slopes[j] = 1.0f - t * t;
      scores[j] = cap * t;
    }
  }
  sharpmax::oracle::add_bias_and_mask(request, at, keys.begin, scores, scratch.bias);
  round_to_float(scores);
  const RowFacts facts = weigh_row(normalizer, to_size(at.head), scores, weights);
  round_to_float(weights);
  return {keys, scores, weights, facts};
}

// [batch, head, query, value_feature], dense, as it would have been stored in `out_type`.
inline std::vector<double> plain_forward(const AttentionProblem& problem, const AnyNormalizer& normalizer,
                                         DType out_type, const RowStatistics* statistics = nullptr) {
  const AttentionRequest& request = problem.request;
  sharpmax::oracle::Scratch scratch(request);
  std::vector<double> all;
  const sharpmax::oracle::HeadSize size{request.query.shape[2], request.key.shape[2]};
  for (std::int64_t b = 0; statistics != nullptr && b < request.query.shape[0]; ++b) {
    for (std::int64_t h = 0; h < request.query.shape[1]; ++h) sharpmax::oracle::clear_sums(*statistics, b, h);
  }
  for_each_row(problem, [&](const RowIndex& at, KeyRange keys) {
    const sharpmax::oracle::WeighedRow row = plain_weigh(request, normalizer, at, keys, scratch);
    std::vector<float> out(scratch.out.size());
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      if (row.scores[j] == sharpmax::oracle::kMasked) continue;
      read_row(request.value, sharpmax::oracle::key_row(request, at, keys.begin, j), scratch.value);
      for (std::size_t c = 0; c < out.size(); ++c) {
        out[c] += static_cast<float>(row.weights[j]) * static_cast<float>(scratch.value[c]);
      }
    }
    for (const float x : out) {
      all.push_back(with_type_of(out_type, [&]<class T>(T) { return to_double(from_double<T>(x)); }));
    }
    if (statistics != nullptr) sharpmax::oracle::record_row(*statistics, at, size, row, scratch.order);
  });
  return all;
}

// Room for every gradient of a problem.
class GradientBuffers {
 public:
  GradientBuffers(const AttentionProblem& problem, const AnyNormalizer& normalizer, DType type)
      : query(type, problem.request.query.shape, problem.attention_case().layout),
        key(type, problem.request.key.shape, problem.attention_case().layout),
        value(type, problem.request.value.shape, problem.attention_case().layout),
        parameters(normalizer.parameters().size() * to_size(problem.request.query.shape[1]), -12345.5),
        parameter_shape_{static_cast<std::int64_t>(normalizer.parameters().size()),
                         problem.request.query.shape[1]} {
    if (problem.request.bias.present()) {
      bias = Buffer(type, problem.request.bias.shape, problem.attention_case().layout);
    }
    for (Buffer* b : {&query, &key, &value, &bias}) b->fill([](const Extents<4>&) { return -12345.5; });
  }
  AttentionGradients view() {
    AttentionGradients all{query.output(), key.output(), value.output(), {}, {}};
    if (!bias.bytes().empty()) all.bias = bias.output();
    if (!parameters.empty()) all.parameters = {parameters.data(), parameter_shape_};
    return all;
  }
  bool canaries_alive() const {
    return query.canaries_alive() && key.canaries_alive() && value.canaries_alive() && bias.canaries_alive();
  }

  Buffer query, key, value, bias;
  std::vector<double> parameters;

 private:
  Extents<2> parameter_shape_;
};

// Gradients in float, into buffers of float64 so that every type is compared alike.
class PlainBackward {
 public:
  PlainBackward(const AttentionProblem& problem, const AnyNormalizer& normalizer, GradientBuffers& into)
      : problem_(problem), request_(problem.request), normalizer_(normalizer), into_(into), scratch_(request_) {
    for (Buffer* b : {&into.query, &into.key, &into.value, &into.bias}) b->fill([](const Extents<4>&) { return 0.0; });
    into.parameters.assign(into.parameters.size(), 0.0);
  }
  void run() {
    for_each_row(problem_, [&](const RowIndex& at, KeyRange keys) { row(at, keys); });
  }

 private:
  static void add(Buffer& buffer, const Extents<4>& at, double x) {
    buffer.set(at, static_cast<float>(buffer.get(at)) + static_cast<float>(x));
  }

  void row(const RowIndex& at, KeyRange keys) {
    const sharpmax::oracle::WeighedRow row = plain_weigh(request_, normalizer_, at, keys, scratch_);
    read_row(problem_.d_out().input(), at, scratch_.out);
    const std::size_t n = row.weights.size();
    std::vector<double> d_weights(n), d_scores(n), d_parameters(normalizer_.parameters().size());
    for (std::size_t j = 0; j < n; ++j) {
      if (row.scores[j] == sharpmax::oracle::kMasked) continue;
      const RowIndex key = sharpmax::oracle::key_row(request_, at, keys.begin, j);
      read_row(request_.value, key, scratch_.value);
      d_weights[j] = float_dot(scratch_.out, scratch_.value);
      for (std::size_t c = 0; c < scratch_.value.size(); ++c) {
        add(into_.value, {key.batch, key.head, key.row, static_cast<std::int64_t>(c)}, row.weights[j] * scratch_.out[c]);
      }
    }
    backward_row(normalizer_, to_size(at.head), row.scores, row.weights, d_weights, d_scores, d_parameters);
    round_to_float(d_scores);
    for (std::size_t p = 0; p < d_parameters.size(); ++p) {
      into_.parameters[p * to_size(request_.query.shape[1]) + to_size(at.head)] += static_cast<float>(d_parameters[p]);
    }
    through_scores(at, row, d_scores);
  }

  void through_scores(const RowIndex& at, const sharpmax::oracle::WeighedRow& row, std::span<const double> d_scores) {
    const bool linear = normalizer_.definition().needs_queries_and_keys;
    const double scale = linear ? 1.0 : static_cast<float>(scale_of(request_));
    std::vector<double> query(scratch_.query.size());
    read_row(request_.query, at, query);
    for (std::size_t j = 0; j < d_scores.size(); ++j) {
      if (row.scores[j] == sharpmax::oracle::kMasked) continue;
      const RowIndex key = sharpmax::oracle::key_row(request_, at, row.keys.begin, j);
      read_row(request_.key, key, scratch_.key);
      const double d = static_cast<float>(scale * scratch_.cap_slopes[j] * d_scores[j]);
      for (std::size_t c = 0; c < query.size(); ++c) {
        const double k = scratch_.key[c];
        add(into_.query, {at.batch, at.head, at.row, static_cast<std::int64_t>(c)},
            d * (linear ? sharpmax::oracle::feature_map(k) * sharpmax::oracle::feature_map_slope(query[c]) : k));
        add(into_.key, {key.batch, key.head, key.row, static_cast<std::int64_t>(c)},
            d * scratch_.query[c] * (linear ? sharpmax::oracle::feature_map_slope(k) : 1.0));
      }
      if (into_.bias.bytes().empty()) continue;
      Extents<4> place = {at.batch, at.head, at.row, key.row};
      for (std::size_t i = 0; i < 4; ++i) place[i] = into_.bias.shape()[i] == 1 ? 0 : place[i];
      add(into_.bias, place, d_scores[j]);
    }
  }

  const AttentionProblem& problem_;
  const AttentionRequest& request_;
  const AnyNormalizer& normalizer_;
  GradientBuffers& into_;
  sharpmax::oracle::Scratch scratch_;
};

}  // namespace sharpmax::test
