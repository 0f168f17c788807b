// The instruction set in use, as kernels see it.
#pragma once

namespace sharpmax {

// Applies SHARPMAX_TARGET, once. Every door to the kernels calls it; throws Error if the variable
// names what this machine does not have.
void choose_target();

}  // namespace sharpmax
