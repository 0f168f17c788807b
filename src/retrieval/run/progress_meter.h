// Work done by several threads, told to one listener now and then.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <mutex>

#include "retrieval/run/run.h"

namespace sharpmax::retrieval {

class ProgressMeter {
 public:
  using Clock = std::chrono::steady_clock;

  // `done` of `total` were done before this process began; they say nothing of its speed.
  ProgressMeter(Phase phase, double done, double total, std::function<void(const RunProgress&)> listener)
      : phase_(phase), before_(done), done_(done), total_(total), listener_(std::move(listener)) {}

  void add(double work) {
    if (!listener_) return;
    const std::lock_guard guard(mutex_);
    done_ += work;
    const auto now = Clock::now();
    if (now - told_ < kInterval && done_ < total_) return;
    told_ = now;
    const double seconds = std::chrono::duration<double>(now - began_).count();
    const double speed = seconds > 0.0 ? (done_ - before_) / seconds : 0.0;
    listener_(
        {.phase = phase_,
         .done = done_,
         .total = total_,
         .per_second = speed,
         .seconds_left = speed > 0.0 ? (total_ - done_) / speed : std::numeric_limits<double>::quiet_NaN()});
  }

 private:
  static constexpr auto kInterval = std::chrono::milliseconds(100);

  Phase phase_;
  double before_, done_, total_;
  std::function<void(const RunProgress&)> listener_;
  Clock::time_point began_ = Clock::now(), told_{};
  std::mutex mutex_;
};

}  // namespace sharpmax::retrieval
