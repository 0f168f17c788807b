// What the doors ask of their arguments. Each function throws Error with one sentence that names
// the door, the argument, what was found and what was expected.
#pragma once

#include <string_view>

#include "sharpmax/attention.h"

namespace sharpmax {

// What attend() asks of its inputs alone.
void validate_request(const AttentionRequest& request, const AnyNormalizer& normalizer);

void validate_attend(const AttentionRequest& request, const AnyNormalizer& normalizer,
                     const AnyMutableTensor<4>& out, const RowStatistics* statistics, const Execution& execution);

void validate_attend_backward(const AttentionRequest& request, const AnyNormalizer& normalizer,
                              const AnyTensor<4>& d_out, const AttentionGradients& gradients, const Saved& saved,
                              const Execution& execution);

void validate_normalize(const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                        const AnyMutableTensor<4>& weights, const RowStatistics* statistics,
                        const Execution& execution);

void validate_normalize_backward(const AnyTensor<4>& scores, const AnyNormalizer& normalizer,
                                 const AnyTensor<4>& d_weights, const AnyMutableTensor<4>& d_scores,
                                 const TensorView<double, 2>& d_parameters, const Execution& execution);

}  // namespace sharpmax
