// The crowd: other processes that want the cores of our threads, judged by the time that loops lose to them.
//
// Beside them a loop on several threads can be slower than on one fewer, for whoever loses its core in the middle
// of a task keeps all the others waiting. When a caller has lost too much of its time in this way, one thread fewer
// is used for a pause. A loss soon after the pause doubles the next one, so little is lost beside a process that
// stays. docs/decisions/0015 has the measurements that chose the numbers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sharpmax {

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

}  // namespace sharpmax
