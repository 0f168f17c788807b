// Every call through the oracle, whatever its type.
#include "attention/kernels.h"
#include "attention/oracle.h"

namespace sharpmax {

void run_backward(const BackwardCall& call) { oracle::backward(call); }
void run_normalize(const NormalizeCall& call) { oracle::normalize(call); }
void run_normalize_backward(const NormalizeBackwardCall& call) { oracle::normalize_backward(call); }

}  // namespace sharpmax
