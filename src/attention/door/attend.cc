#include "attention/door/validate.h"
#include "attention/oracle/oracle.h"
#include "attention/plan/plan.h"
#include "attention/rows/call.h"
#include "base/threads.h"
#include "sharpmax/attention.h"

namespace sharpmax {
namespace {

double multiply_adds(const AttentionRequest& request) {
  const auto& query = request.query.shape;
  const double pairs = static_cast<double>(query[0] * query[1]) * static_cast<double>(query[2]) *
                       static_cast<double>(request.key.shape[2]);
  const double each = static_cast<double>(query[3] + request.value.shape[3]);
  return pairs * each *
         (request.query.dtype == DType::float64 ? 32.0 : 1.0);  // the oracle is that much slower
}

}  // namespace

void attend(const AttentionRequest& request, const AnyNormalizer& normalizer, AnyMutableTensor<4> out,
            const RowStatistics* statistics, const Execution& execution) {
  validate_attend(request, normalizer, out, statistics, execution);
  const std::vector<Segment> segments = segments_of(request);
  const bool records = statistics != nullptr && oracle::wants_anything(*statistics);
  const ForwardCall call{request,
                         normalizer,
                         segments,
                         out,
                         records ? statistics : nullptr,
                         threads_for(execution.threads, multiply_adds(request))};
  if (request.query.dtype == DType::float64) {
    oracle::forward(call);
  } else {
    plan_forward(call)->run();
  }
}

AttentionResult attend(const AttentionRequest& request, const AnyNormalizer& normalizer,
                       const WantedStatistics& wanted, const Execution& execution) {
  validate_request(request, normalizer);  // before any of its sizes is trusted
  const auto [batches, heads, queries, features] = request.query.shape;
  AttentionResult result{Tensor<float, 4>({batches, heads, queries, request.value.shape[3]}),
                         OwnedStatistics(wanted, {batches, heads, queries, request.key.shape[2]})};
  const RowStatistics statistics = result.statistics.views();
  attend(request, normalizer, result.output, &statistics, execution);
  return result;
}

Tensor<float, 4> attend(AnyTensor<4> query, AnyTensor<4> key, AnyTensor<4> value,
                        const AnyNormalizer& normalizer, const AttentionOptions& options,
                        const Execution& execution) {
  return attend({query, key, value, options}, normalizer, WantedStatistics{}, execution).output;
}

void attend_backward(const AttentionRequest& request, const AnyNormalizer& normalizer, AnyTensor<4> d_out,
                     const AttentionGradients& gradients, const Saved& saved, const Execution& execution) {
  validate_attend_backward(request, normalizer, d_out, gradients, saved, execution);
  const std::vector<Segment> segments = segments_of(request);
  const BackwardCall call{request,
                          normalizer,
                          segments,
                          d_out,
                          gradients,
                          saved,
                          threads_for(execution.threads, multiply_adds(request))};
  if (request.query.dtype == DType::float64) {
    oracle::backward(call);
  } else {
    plan_backward(call)->run();
  }
}

namespace {

// About what a score costs: an exponential, and a few sweeps.
double multiply_adds(const AnyTensor<4>& scores) {
  double count = scores.dtype == DType::float64 ? 512.0 : 16.0;
  for (const std::int64_t size : scores.shape) count *= static_cast<double>(size);
  return count;
}

}  // namespace

void normalize(AnyTensor<4> scores, const AnyNormalizer& normalizer, AnyMutableTensor<4> weights,
               const RowStatistics* statistics, const Execution& execution) {
  validate_normalize(scores, normalizer, weights, statistics, execution);
  const bool records = statistics != nullptr && oracle::wants_anything(*statistics);
  const NormalizeCall call{scores, normalizer, weights, records ? statistics : nullptr,
                           threads_for(execution.threads, multiply_adds(scores))};
  if (scores.dtype == DType::float64) {
    oracle::normalize(call);
  } else {
    run_normalize(call);
  }
}

void normalize_backward(AnyTensor<4> scores, const AnyNormalizer& normalizer, AnyTensor<4> d_weights,
                        AnyMutableTensor<4> d_scores, TensorView<double, 2> d_parameters,
                        const Execution& execution) {
  validate_normalize_backward(scores, normalizer, d_weights, d_scores, d_parameters, execution);
  const NormalizeBackwardCall call{scores,       normalizer,
                                   d_weights,    d_scores,
                                   d_parameters, threads_for(execution.threads, multiply_adds(scores))};
  if (scores.dtype == DType::float64) {
    oracle::normalize_backward(call);
  } else {
    run_normalize_backward(call);
  }
}

// normalize() and normalize_backward() of one row, as spans.

namespace {

template <class T>
TensorView<T, 4> row_view(std::span<T> row) {
  return {row.data(), {1, 1, 1, static_cast<std::int64_t>(row.size())}};
}

constexpr Execution kOneThread{.threads = 1};  // one row is one task

template <class T>
std::vector<T> normalized(std::span<const T> scores, const AnyNormalizer& normalizer) {
  std::vector<T> weights(scores.size());
  normalize(scores, normalizer, std::span<T>(weights));
  return weights;
}

template <class T>
void write_gradient(std::span<const T> scores, const AnyNormalizer& normalizer, std::span<const T> d_weights,
                    std::span<T> d_scores) {
  const TensorView<const T, 4> row = row_view(scores);
  const TensorView<T, 4> gradient = row_view(d_scores);
  // The tensor door takes an empty view as "not wanted"; an empty span is a mistake.
  check_shape(named("normalize_backward", "d_scores", gradient), row.shape, "as scores");
  normalize_backward(row, normalizer, row_view(d_weights), gradient, {}, kOneThread);
}

template <class T>
std::vector<T> gradient_of(std::span<const T> scores, const AnyNormalizer& normalizer,
                           std::span<const T> d_weights) {
  std::vector<T> d_scores(scores.size());
  normalize_backward(scores, normalizer, d_weights, std::span<T>(d_scores));
  return d_scores;
}

}  // namespace

void normalize(std::span<const float> scores, const AnyNormalizer& normalizer, std::span<float> weights) {
  normalize(row_view(scores), normalizer, row_view(weights), nullptr, kOneThread);
}
void normalize(std::span<const double> scores, const AnyNormalizer& normalizer, std::span<double> weights) {
  normalize(row_view(scores), normalizer, row_view(weights), nullptr, kOneThread);
}
std::vector<float> normalize(std::span<const float> scores, const AnyNormalizer& normalizer) {
  return normalized(scores, normalizer);
}
std::vector<double> normalize(std::span<const double> scores, const AnyNormalizer& normalizer) {
  return normalized(scores, normalizer);
}

void normalize_backward(std::span<const float> scores, const AnyNormalizer& normalizer,
                        std::span<const float> d_weights, std::span<float> d_scores) {
  write_gradient(scores, normalizer, d_weights, d_scores);
}
void normalize_backward(std::span<const double> scores, const AnyNormalizer& normalizer,
                        std::span<const double> d_weights, std::span<double> d_scores) {
  write_gradient(scores, normalizer, d_weights, d_scores);
}
std::vector<float> normalize_backward(std::span<const float> scores, const AnyNormalizer& normalizer,
                                      std::span<const float> d_weights) {
  return gradient_of(scores, normalizer, d_weights);
}
std::vector<double> normalize_backward(std::span<const double> scores, const AnyNormalizer& normalizer,
                                       std::span<const double> d_weights) {
  return gradient_of(scores, normalizer, d_weights);
}

namespace {

// A reach no key is beyond is no limit; this also keeps query + reach from overflowing.
std::int64_t limit(std::int64_t reach, const AttentionRequest& request) {
  const std::int64_t furthest = request.query.shape[2] + request.key.shape[2];
  return reach < 0 || reach >= furthest ? -1 : reach;
}

Segment with_diagonal(Segment segment, const AttentionRequest& request) {
  segment.diagonal = request.causal == Causal::top_left
                         ? segment.key_begin - segment.query_begin
                         : segment.key_end - segment.query_end;
  segment.left = limit(request.window.left, request);
  segment.right = request.causal == Causal::none ? limit(request.window.right, request) : 0;
  return segment;
}

}  // namespace

std::vector<Segment> segments_of(const AttentionRequest& request) {
  const std::int64_t batches = request.query.shape[0];
  const auto length = [](std::span<const std::int64_t> lengths, std::int64_t batch, std::int64_t all) {
    return lengths.empty() ? all : lengths[static_cast<std::size_t>(batch)];
  };
  std::vector<Segment> segments;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (request.query_offsets.empty()) {
      segments.push_back(with_diagonal(
          {.batch = batch,
           .query_end = length(request.query_lengths, batch, request.query.shape[2]),
           .key_end = length(request.key_lengths, batch, request.key.shape[2])},
          request));
    }
    for (std::size_t i = 1; i < request.query_offsets.size(); ++i) {
      segments.push_back(with_diagonal({.batch = batch,
                                        .query_begin = request.query_offsets[i - 1],
                                        .query_end = request.query_offsets[i],
                                        .key_begin = request.key_offsets[i - 1],
                                        .key_end = request.key_offsets[i]},
                                       request));
    }
  }
  return segments;
}

}  // namespace sharpmax
