// An object that serves one thread at a time: the others wait, without the interpreter's lock and open to its signals.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace sharpmax::python {

namespace nb = nanobind;

// How long an interrupt may go unnoticed where it is the interpreter's thread that waits.
inline constexpr auto kBetweenSignals = std::chrono::milliseconds(50);

// Raises what the handler of a signal raised. With the interpreter's lock.
inline void raise_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// The same between pieces of work, now and then, without the interpreter's lock.
class SignalWatch {
 public:
  void look() {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kBetweenSignals) return;
    last_ = now;
    const nb::gil_scoped_acquire with_interpreter;
    raise_signals();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

class Turns {
 public:
  // what: opens the sentence where a thread that has the turn asks for it again (in a callback, say).
  explicit Turns(const char* what) : what_(what) {}

  void take() {  // with the interpreter's lock
    if (owner_ == std::this_thread::get_id()) {
      PyErr_Format(PyExc_RuntimeError, "%s is at work in this very thread; call it when that is done", what_);
      throw nb::python_error();
    }
    while (!taken_within(kBetweenSignals)) raise_signals();
    owner_ = std::this_thread::get_id();
  }

  void give_back() noexcept {
    owner_ = std::thread::id();
    mutex_.unlock();
  }

 private:
  bool taken_within(std::chrono::milliseconds time) {
    if (mutex_.try_lock()) return true;
    const nb::gil_scoped_release without_interpreter;
    return mutex_.try_lock_for(time);
  }

  const char* what_;
  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_;
};

class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) { turns_.take(); }
  ~Turn() { turns_.give_back(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

}  // namespace sharpmax::python
