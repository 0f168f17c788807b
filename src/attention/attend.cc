#include "attention/kernels.h"
#include "attention/oracle.h"
#include "attention/oracle_statistics.h"
#include "attention/segments.h"
#include "attention/validate.h"
#include "base/threads.h"
#include "sharpmax/attention.h"

namespace sharpmax {

void attend(const AttentionRequest& request, const AnyNormalizer& normalizer, AnyMutableTensor<4> out,
            const RowStatistics* statistics, const Execution& execution) {
  validate_attend(request, normalizer, out, statistics, execution);
  const std::vector<Segment> segments = segments_of(request);
  const bool records = statistics != nullptr && oracle::wants_anything(*statistics);
  const ForwardCall call{request, normalizer,
                         segments, out,
                         records ? statistics : nullptr, threads_for(execution.threads)};
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
  const BackwardCall call{request, normalizer, segments, d_out, gradients, saved, threads_for(execution.threads)};
  if (request.query.dtype == DType::float64) {
    oracle::backward(call);
  } else {
    run_backward(call);
  }
}

}  // namespace sharpmax
