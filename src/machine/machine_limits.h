// What this machine could do at best, measured: the denominators of every "fraction of the limit".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sharpmax {

// Floating-point operations per second of fused multiply-adds in float, two per lane and step, on the
// instruction set in use; `threads` at once. Takes about `seconds`.
double measure_fma_peak(int threads, double seconds);

// Bytes per second read from memory, summing a buffer much larger than the caches; the buffer is kept
// between calls, so that rounds of a benchmark can measure it beside the kernels.
class ReadBandwidth {
 public:
  explicit ReadBandwidth(int threads);
  double measure();  // one pass over the buffer

 private:
  int threads_;
  std::vector<float> buffer_;
};

// Instruction sets compiled into this program, best first, whether or not this CPU runs them.
std::vector<std::string> compiled_targets();

// Memory that this process could still take, as the system reports it.

// The least of the free memory on the machine, in this control group, and under the limit of address space.
// Nothing where the system does not say.
std::optional<std::uint64_t> available_memory();

}  // namespace sharpmax
