// A loop that several threads work on at the same time, and how they wait for each other.
//
// Its memory outlives the loops that it serves, one after the other. So a worker that comes late finds a loop
// without unclaimed pieces, or a later one, which it may as well help. It never finds freed memory, and nobody
// has to wait for it. All but the ticket and the count of finished pieces is written while no piece is claimed, and
// read only by a thread that holds one.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "base/threads.h"

namespace sharpmax {

std::int64_t nanoseconds() noexcept;  // of a clock that never goes back
// For how long the calling thread has wanted to run without having a core; 0 if the system does not say.
std::int64_t core_delay() noexcept;
void relax() noexcept;  // tells the core that this thread is spinning

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

}  // namespace sharpmax
