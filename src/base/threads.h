// Threads: one door to parallel loops, and one knob. Nothing else in the library starts threads.
#pragma once

#include <cstdint>

namespace sharpmax {

// The thread pool: workers that help the caller of a parallel loop and sleep when there is nothing to do.
//
// The caller takes tasks like any worker and goes on when all TASKS are done, not when all workers have
// arrived. So a worker that comes late, because another process has its core, delays nobody. A worker that
// loses its core in the middle of a task does: the crowd (base/workers.h) then leaves workers out for a while.
//
// Whoever waits spins for some tens of microseconds, then sleeps. Workers are started when a loop first wants
// them, are never joined, and do not survive a fork: the child starts its own.

// A parallel loop: run(body, task, thread) for every task in [0, tasks).
struct Loop {
  void (*run)(const void* body, std::int64_t task, int thread);
  const void* body;
  std::int64_t tasks;
  int threads;  // at most; the caller is thread 0
};

// Runs the loop; see parallel_for. A loop within a task of another runs on the thread that asks for it.
void run_loop(const Loop& loop);

// How many threads a call may use: `requested`, or what OpenMP would use if that is 0 (OMP_NUM_THREADS, the
// cores that the process may run on, torch.set_num_threads). Absurd requests are cut.
int threads_for(int requested) noexcept;
// The same for a call of so many multiply-adds: where the number is left open, waking threads is not worth
// what it would take from a call that is over in some ten microseconds.
int threads_for(int requested, double multiply_adds) noexcept;

// body(task, thread) for every task in [0, tasks), each exactly once, in any order, with thread in
// [0, threads); no two tasks with the same thread run at the same time. Fewer threads are used while other
// processes hold the cores. After an exception no further task begins; the first is thrown here when those that
// had begun have ended.
template <class Body>
void parallel_for(int threads, std::int64_t tasks, const Body& body) {
  run_loop({[](const void* of_body, std::int64_t task, int thread) {
              (*static_cast<const Body*>(of_body))(task, thread);
            },
            &body, tasks, threads});
}

}  // namespace sharpmax
