// The thread pool: workers that help the caller of a parallel loop and sleep when there is nothing to do.
//
// The caller takes tasks like any worker and goes on when all TASKS are done, not when all workers have
// arrived. So a worker that comes late, because another process has its core, delays nobody. A worker that
// loses its core in the middle of a task does: the crowd (base/crowd.h) then leaves workers out for a while.
//
// Whoever waits spins for some tens of microseconds, then sleeps. Workers are started when a loop first wants
// them, are never joined, and do not survive a fork: the child starts its own.
#pragma once

#include <cstdint>

namespace sharpmax {

// A parallel loop: run(body, task, thread) for every task in [0, tasks).
struct Loop {
  void (*run)(const void* body, std::int64_t task, int thread);
  const void* body;
  std::int64_t tasks;
  int threads;  // at most; the caller is thread 0
};

// Runs the loop; see parallel_for. A loop within a task of another runs on the thread that asks for it.
void run_loop(const Loop& loop);

}  // namespace sharpmax
