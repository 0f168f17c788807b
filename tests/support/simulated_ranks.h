// The group of a program that SimGrid may run: there all ranks are in one process, and each begins and ends MPI itself.
#pragma once

#include <memory>

#include "cluster/launched_group.h"

#ifdef SHARPMAX_SIMULATED_MPI
#include <mpi.h>
#endif

namespace sharpmax::test {

#ifdef SHARPMAX_SIMULATED_MPI
struct MpiOfSimulation {
  MpiOfSimulation() { MPI_Init(nullptr, nullptr); }
  ~MpiOfSimulation() { MPI_Finalize(); }
};
inline std::unique_ptr<Group> group_of_this_program() {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size == 1 ? serial_group() : mpi_group({.launcher = "mpirun", .rank = rank, .size = size}, kPatience);
}
#else
struct MpiOfSimulation {
  MpiOfSimulation() {}
};
inline std::unique_ptr<Group> group_of_this_program() { return launched_group(launch()); }
#endif

}  // namespace sharpmax::test
