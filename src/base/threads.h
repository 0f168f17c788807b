// Threads: OpenMP's, and one knob. Nothing else in the library starts any.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace sharpmax {

// How many threads a call will use: `requested`, or what OpenMP would use if that is 0. Absurd
// requests are cut, since the runtime aborts the process when it cannot start a thread.
int threads_for(int requested) noexcept;
// The same for a call of so many multiply-adds: where the number is left open, waking a team is not worth
// what it would take from a call that is over in some ten microseconds.
int threads_for(int requested, double multiply_adds) noexcept;

int thread_index() noexcept;  // of the caller within its team, from 0

// body(task, thread) for every task in [0, tasks), each exactly once, in any order, with thread in
// [0, threads). After an exception no further task begins; the first is thrown here when those that had begun
// have ended.
template <class Body>
void parallel_for(int threads, std::int64_t tasks, const Body& body) {
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  if (threads > tasks) threads = tasks > 0 ? static_cast<int>(tasks) : 1;
#pragma omp parallel num_threads(threads)
  {
    const int thread = thread_index();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < tasks; ++task) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        body(task, thread);
      } catch (...) {
#pragma omp critical(sharpmax_parallel_for_failure)
        if (!failure) failure = std::current_exception();
        failed = true;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace sharpmax
