// The group of the processes that a launcher started. mpi.cc has it over MPI, no_mpi.cc stands in its place in a build
// without; CMake chooses (SHARPMAX_MPI).
#pragma once

#include <memory>

#include "cluster/launch.h"
#include "sharpmax/cluster.h"

namespace sharpmax {

// A process that is silent for so many seconds, while another waits for it, ends the job.
inline constexpr double kPatience = 600.0;

// Over MPI, which is begun at the first call and ended with the process. Fail-stop: if one process ends early, the launcher
// ends all. Throws Error{unsupported} if this build has no MPI or the launcher does not speak it.
std::unique_ptr<Group> mpi_group(const Launch& launch, double patience);

// A group of one for a process that is alone; otherwise mpi_group().
std::unique_ptr<Group> launched_group(const Launch& launch, double patience = kPatience);

}  // namespace sharpmax
