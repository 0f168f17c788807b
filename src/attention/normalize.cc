#include "attention/kernels.h"
#include "attention/oracle.h"
#include "attention/oracle_statistics.h"
#include "attention/validate.h"
#include "base/threads.h"
#include "sharpmax/attention.h"

namespace sharpmax {
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
