// Threads: one door to parallel loops, and one knob. Nothing else in the library starts threads.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"

namespace sharpmax {

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
