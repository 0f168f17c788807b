// The instruction set that the kernels run on, and those that the library was built with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sharpmax {

// Instruction sets compiled in that this CPU can run, best first: "AVX3", "AVX2", "SSE4", ...
std::vector<std::string> available_targets();
// The one in use: the best, or what SHARPMAX_TARGET names (read at the first call of any kernel).
std::string current_target();
// Forces one; an empty name goes back to the best. Throws Error if it is not available.
void force_target(std::string_view name);

std::string_view version() noexcept;  // "0.1.0"
int default_threads() noexcept;       // what Execution{0} will use

}  // namespace sharpmax
