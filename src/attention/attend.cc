#include "sharpmax/attention.h"

#include "attention/kernels.h"
#include "attention/oracle.h"
#include "attention/segments.h"
#include "attention/validate.h"
#include "base/threads.h"

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
    run_forward(call);
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
    run_backward(call);
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

}  // namespace sharpmax
