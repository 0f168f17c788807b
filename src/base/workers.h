// The threads of parallel loops: a loop that many work on, the crowd of other processes, the pool of workers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "base/threads.h"

namespace sharpmax {

// A loop that several threads work on at the same time, and how they wait for each other.
//
// Its memory outlives the loops that it serves, one after the other. So a worker that comes late finds a loop
// without unclaimed pieces, or a later one, which it may as well help. It never finds freed memory, and nobody
// has to wait for it. All but the ticket and the count of finished pieces is written while no piece is claimed, and
// read only by a thread that holds one.

std::int64_t nanoseconds() noexcept;  // of a clock that never goes back
// Time that the calling thread has waited for a core; 0 if the system does not say.
std::int64_t core_delay() noexcept;
void relax() noexcept;  // shows the core that this thread is spinning

// How long a waiting thread spins before it sleeps. Waking takes some ten microseconds; the loops of a generated
// token follow each other within fewer (docs/decisions/0015).
inline constexpr std::int64_t kSpinNanoseconds = 50'000;

// True as soon as `done` is; false if it is not within kSpinNanoseconds.
template <class Done>
bool spin_until(const Done& done) noexcept {
  for (const std::int64_t end = nanoseconds() + kSpinNanoseconds;;) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      relax();
    }
    if (nanoseconds() > end) return false;
  }
}

class alignas(128) SharedLoop {
 public:
  static constexpr int kMostThreads = 1024;

  // One caller at a time has the right to open loops here.
  bool take() noexcept { return !taken_.exchange(true, std::memory_order_acquire); }
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }

  // Opens a loop of at least one task for 2 to kMostThreads threads; returns its epoch.
  std::uint64_t open(const Loop& loop) noexcept;
  // The caller's part, as thread 0: it works until no piece is left to claim.
  void lead(std::uint64_t epoch) noexcept;
  // A worker's part: it takes a seat and works likewise. False if no seat was free or no piece left.
  bool help() noexcept;
  // Waits until all pieces are done. Returns for how many nanoseconds a worker was without a core, if the wait was
  // long enough to ask.
  std::int64_t wait() noexcept;
  // What a task threw, or null; once, after wait().
  std::exception_ptr failure() noexcept;

 private:
  bool claim(std::uint64_t epoch, std::uint64_t& ticket) noexcept;
  void run_piece(std::uint64_t ticket, int thread) noexcept;

  std::atomic<std::uint64_t> ticket_ = 0;  // epoch, free seats, unclaimed pieces
  alignas(64) std::atomic<std::uint32_t> finished_ = 0;  // pieces
  std::atomic<bool> taken_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> asleep_ = false;      // the caller, in wait()
  std::atomic<std::int64_t> delay_ = 0;  // of a worker for which the caller waited
  std::exception_ptr failure_;
  Loop loop_{};
  std::int64_t grain_ = 1;  // tasks of a piece
  std::uint32_t pieces_ = 0;
};

// The crowd: other processes that want the cores of our threads, judged by the time that loops lose to them.
//
// Beside them a loop on several threads can be slower than on one fewer, for whoever loses its core in the middle
// of a task keeps all the others waiting. When a caller has lost too much of its time in this way, one thread fewer
// is used for a pause. A loss soon after the pause doubles the next one, so little is lost beside a process that
// stays. docs/decisions/0015 has the measurements that chose the numbers.

class Crowd {
 public:
  using Nanoseconds = std::int64_t;

  // Time over which losses are counted: several of the turns that the system gives to a process.
  static constexpr Nanoseconds kWindow = 24'000'000;
  static constexpr Nanoseconds kTolerated = kWindow / 6;  // lost in a window
  static constexpr Nanoseconds kShortestPause = 2 * kWindow;
  static constexpr Nanoseconds kLongestPause = 1'024'000'000;

  // How many of `threads` a loop that begins now should use.
  int threads_now(int threads, Nanoseconds now) noexcept {
    int out = left_out_.load(std::memory_order_relaxed);
    if (out == 0) return threads;
    if (now >= until_.load(std::memory_order_relaxed)) {
      left_out_.store(--out, std::memory_order_relaxed);
      resumed_.store(now, std::memory_order_relaxed);
      until_.store(now + pause_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    return std::max(1, threads - out);
  }

  // A caller of loops lost so much of the last `time`: it, or a worker that it waited for, had no core.
  void on_window(Nanoseconds lost, Nanoseconds time, Nanoseconds now) noexcept {
    if (lost <= time / (kWindow / kTolerated)) return;
    const Nanoseconds last = pause_.load(std::memory_order_relaxed);
    const bool again = now - resumed_.load(std::memory_order_relaxed) < last;
    const Nanoseconds pause = again ? std::min(2 * last, kLongestPause) : kShortestPause;
    pause_.store(pause, std::memory_order_relaxed);
    until_.store(now + pause, std::memory_order_relaxed);
    left_out_.store(left_out_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  // Callers at the same time may overwrite each other's news: a pause more or less harms nobody.
  std::atomic<int> left_out_ = 0;
  std::atomic<Nanoseconds> until_ = 0;               // end of the pause under way
  std::atomic<Nanoseconds> pause_ = kShortestPause;  // length of the last one
  std::atomic<Nanoseconds> resumed_ = -kLongestPause;  // end of the last one
};

// Workers: threads that help callers with their loops, and sleep when there is nothing to help with.
//
// They are started when a loop first wants them, take no signals, and are never joined: they use this object
// until the process ends, so it must never be destroyed.

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
