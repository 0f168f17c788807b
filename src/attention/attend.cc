#include "attention/kernels.h"
#include "attention/oracle.h"
#include "attention/oracle_statistics.h"
#include "attention/segments.h"
#include "attention/validate.h"
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
    run_forward(call);
  }
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

}  // namespace sharpmax
