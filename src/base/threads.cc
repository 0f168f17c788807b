#include "base/threads.h"

#include <omp.h>

#include <algorithm>

#include "sharpmax/machine.h"

namespace sharpmax {
namespace {

// More threads than this on a machine with fewer cores is a mistake, not a wish.
constexpr int kEnoughThreads = 64;

}  // namespace

int default_threads() noexcept { return std::max(1, omp_get_max_threads()); }

int threads_for(int requested) noexcept {
  if (requested <= 0) return default_threads();
  return std::min(requested, std::max(kEnoughThreads, omp_get_num_procs()));
}

int threads_for(int requested, double multiply_adds) noexcept {
  constexpr double kWorthATeam = 1 << 19;
  return requested <= 0 && multiply_adds < kWorthATeam ? 1 : threads_for(requested);
}

}  // namespace sharpmax
