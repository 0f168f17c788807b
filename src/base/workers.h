// Workers: threads that help callers with their loops, and sleep when there is nothing to help with.
//
// They are started when a loop first wants them, take no signals, and are never joined: they use this object
// until the process ends, so it must never be destroyed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/crowd.h"
#include "base/shared_loop.h"

namespace sharpmax {

class Workers {
 public:
  // Runs the loop on the calling thread and at most loop.threads - 1 workers. Throws what a task threw.
  void run(Loop loop);

 private:
  // Callers at the same time; any further one runs its loop alone.
  static constexpr int kPlaces = 8;

  SharedLoop* free_place() noexcept;
  void look_at_caller(std::int64_t now) noexcept;
  int count_for(int wanted);
  int start(int wanted);
  void wake(int wanted) noexcept;
  [[noreturn]] void work() noexcept;

  std::array<SharedLoop, kPlaces> places_;
  alignas(128) std::atomic<std::uint32_t> opened_ = 0;  // loops ever
  std::atomic<int> asleep_ = 0;
  std::atomic<int> count_ = 0;
  Crowd crowd_;
  std::mutex starting_;
};

// Runs the loop on the calling thread.
void run_alone(const Loop& loop);
// Whether the calling thread runs a task of a loop that may have several threads.
bool in_a_shared_loop() noexcept;

}  // namespace sharpmax
