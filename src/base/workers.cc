#include "base/workers.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <thread>

namespace sharpmax {
namespace {

thread_local bool in_a_loop = false;

// What the calling thread knows of itself as a caller of loops.
struct Caller {
  std::int64_t looked = 0;  // when
  std::int64_t delay = 0;   // core_delay() then
  std::int64_t waited = 0;  // since then, for workers without a core
};
thread_local Caller caller;

class InALoop {
 public:
  InALoop() { in_a_loop = true; }
  ~InALoop() { in_a_loop = false; }
  InALoop(const InALoop&) = delete;
  InALoop& operator=(const InALoop&) = delete;
};

// While one lives, this thread and those that it starts take no signals: these are for the program's own threads.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

bool in_a_shared_loop() noexcept { return in_a_loop; }

void run_alone(const Loop& loop) {
  for (std::int64_t task = 0; task < loop.tasks; ++task) loop.run(loop.body, task, 0);
}

void Workers::run(Loop loop) {
  const std::int64_t begun = nanoseconds();
  loop.threads = static_cast<int>(std::min<std::int64_t>({loop.threads, loop.tasks, SharedLoop::kMostThreads}));
  loop.threads = crowd_.threads_now(loop.threads, begun);
  if (loop.threads > 1 && begun - caller.looked >= Crowd::kWindow) look_at_caller(begun);
  if (loop.threads > 1) loop.threads = 1 + count_for(loop.threads - 1);
  SharedLoop* const place = loop.threads > 1 ? free_place() : nullptr;
  const InALoop here;
  if (place == nullptr) return run_alone(loop);
  const std::uint64_t epoch = place->open(loop);
  wake(loop.threads - 1);
  place->lead(epoch);
  const std::int64_t worked = nanoseconds();
  const std::int64_t delay = place->wait();
  if (delay > 0) caller.waited += std::min(delay, nanoseconds() - worked);
  const std::exception_ptr failure = place->failure();
  place->give_back();
  if (failure) std::rethrow_exception(failure);
}

void Workers::look_at_caller(std::int64_t now) noexcept {
  const std::int64_t delay = core_delay();
  if (caller.looked > 0) crowd_.on_window(delay - caller.delay + caller.waited, now - caller.looked, now);
  caller = {.looked = now, .delay = delay};
}

SharedLoop* Workers::free_place() noexcept {
  for (SharedLoop& place : places_) {
    if (place.take()) return &place;
  }
  return nullptr;
}

// How many of the wanted workers there are; those that are missing are started.
int Workers::count_for(int wanted) {
  const int there = count_.load(std::memory_order_acquire);
  return std::min(wanted, there >= wanted ? there : start(wanted));
}

int Workers::start(int wanted) {
  const std::lock_guard lock(starting_);
  const NoSignals none;
  int count = count_.load(std::memory_order_relaxed);
  try {
    for (; count < wanted; ++count) std::thread([this] { work(); }).detach();
  } catch (const std::system_error&) {  // the system allows no more threads: go on with those that are there
  }
  count_.store(count, std::memory_order_release);
  return count;
}

void Workers::wake(int wanted) noexcept {
  opened_.fetch_add(1);
  const int asleep = asleep_.load();
  if (asleep > wanted) {
    for (int i = 0; i < wanted; ++i) opened_.notify_one();
  } else if (asleep > 0) {
    opened_.notify_all();
  }
}

void Workers::work() noexcept {
  in_a_loop = true;
  omp_set_num_threads(1);  // for OpenBLAS, which asks OpenMP of the thread that calls it
  for (;;) {
    const std::uint32_t opened = opened_.load(std::memory_order_acquire);
    bool helped = false;
    for (SharedLoop& place : places_) helped |= place.help();
    if (helped || spin_until([&] { return opened_.load(std::memory_order_acquire) != opened; })) continue;
    asleep_.fetch_add(1);
    opened_.wait(opened);
    asleep_.fetch_sub(1);
  }
}

}  // namespace sharpmax
