// The oracle: attention row by row in double, as the definitions say it and no faster. It is the
// specification that every kernel is compared with, and what float64 inputs run.
//
// It reads and writes every type. Memory grows with the number of keys, never with queries x keys.
#pragma once

#include "attention/kernels.h"

namespace sharpmax::oracle {

void forward(const ForwardCall& call);
void backward(const BackwardCall& call);  // ignores call.saved: everything is computed again
void normalize(const NormalizeCall& call);
void normalize_backward(const NormalizeBackwardCall& call);

}  // namespace sharpmax::oracle
