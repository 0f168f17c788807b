// The launcher that started this process. A launcher that starts several processes at a time says in the environment how many
// there are and which of them this one is. No MPI is needed to know it, and nothing is waited for.
#pragma once

#include <functional>
#include <string>

namespace sharpmax {

struct Launch {
  std::string launcher;  // "mpirun", "torchrun", "srun"; empty: none
  int rank = 0;
  int size = 1;

  bool several() const noexcept { return size > 1; }
};

// value(name): of an environment variable; null if it is not set. The innermost launcher counts: Open MPI, torchrun,
// PMI (MPICH's hydra, srun --mpi=pmi2), then Slurm. A batch script of Slurm is one process, whatever SLURM_NTASKS says:
// Slurm counts only within a step (srun). Throws Error{bad_argument} for numbers that make no sense.
Launch launch_of(const std::function<const char*(const char* name)>& value);

Launch launch();  // of this process

// For a batch script of Slurm that asked for several tasks and runs this process without srun: says how to use them.
// Empty elsewhere.
std::string unused_tasks_sentence_of(const std::function<const char*(const char* name)>& value);
std::string unused_tasks_sentence();

}  // namespace sharpmax
