// How much memory this process could still take, as the system tells it.
#pragma once

#include <cstdint>
#include <optional>

namespace sharpmax {

// The least of what is free on the machine, in this control group, and under the limit of address space.
// Nothing where the system does not say.
std::optional<std::uint64_t> available_memory();

}  // namespace sharpmax
