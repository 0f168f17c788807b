#include "base/threads.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/workers.h"
#include "sharpmax/machine.h"

namespace sharpmax {
namespace {

// A ticket, from the lowest bit: pieces that nobody has claimed, seats that no worker has, the loop's epoch. One
// compare-and-swap claims a piece of the very loop that was looked at, or nothing.
constexpr int kSeatShift = 30, kEpochShift = 40;
constexpr std::uint64_t kOnePiece = 1;
constexpr std::uint64_t kOneSeat = std::uint64_t{1} << kSeatShift;
constexpr std::int64_t kMostPieces = kOneSeat - 1;
static_assert(SharedLoop::kMostThreads <= 1 << (kEpochShift - kSeatShift));

std::uint32_t pieces_left(std::uint64_t ticket) noexcept { return ticket & (kOneSeat - 1); }
int seats_left(std::uint64_t ticket) noexcept {
  return static_cast<int>((ticket >> kSeatShift) & (SharedLoop::kMostThreads - 1));
}
std::uint64_t epoch_of(std::uint64_t ticket) noexcept { return ticket >> kEpochShift; }

}  // namespace

std::int64_t nanoseconds() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

std::int64_t core_delay() noexcept {
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);  // "running waiting slices"
  if (file < 0) return 0;
  char text[80];
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  const char* const end = text + std::max<ssize_t>(size, 0);
  const char* const space = std::find(static_cast<const char*>(text), end, ' ');
  std::int64_t delay = 0;
  if (space != end) std::from_chars(space + 1, end, delay);
  return delay;
}

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

std::uint64_t SharedLoop::open(const Loop& loop) noexcept {
  loop_ = loop;
  grain_ = 1 + (loop.tasks - 1) / kMostPieces;
  pieces_ = static_cast<std::uint32_t>((loop.tasks + grain_ - 1) / grain_);
  failed_.store(false, std::memory_order_relaxed);
  asleep_.store(false, std::memory_order_relaxed);
  delay_.store(0, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  const std::uint64_t next = (epoch_of(ticket_.load(std::memory_order_relaxed)) + 1) << kEpochShift;
  const auto seats = static_cast<std::uint64_t>(loop.threads - 1);  // the caller needs none
  ticket_.store(next | seats * kOneSeat | pieces_, std::memory_order_release);
  return epoch_of(next);
}

void SharedLoop::lead(std::uint64_t epoch) noexcept {
  for (std::uint64_t ticket; claim(epoch, ticket);) run_piece(ticket, 0);
}

bool SharedLoop::help() noexcept {
  std::uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  do {
    if (pieces_left(ticket) == 0 || seats_left(ticket) == 0) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - kOneSeat - kOnePiece, std::memory_order_acquire,
                                          std::memory_order_relaxed));
  const std::uint64_t epoch = epoch_of(ticket);
  const int thread = loop_.threads - seats_left(ticket);
  do {
    run_piece(ticket, thread);
  } while (claim(epoch, ticket));
  return true;
}

// The next piece of the loop in which this thread has a seat; `ticket` is as it was before.
bool SharedLoop::claim(std::uint64_t epoch, std::uint64_t& ticket) noexcept {
  ticket = ticket_.load(std::memory_order_relaxed);
  do {
    if (pieces_left(ticket) == 0 || epoch_of(ticket) != epoch) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket - kOnePiece, std::memory_order_acquire,
                                          std::memory_order_relaxed));
  return true;
}

void SharedLoop::run_piece(std::uint64_t ticket, int thread) noexcept {
  const std::uint32_t pieces = pieces_;  // once the last piece is done, another loop may be here
  const std::int64_t first = std::int64_t{pieces - pieces_left(ticket)} * grain_;
  const std::int64_t end = std::min(loop_.tasks, first + grain_);
  try {
    for (std::int64_t task = first; task < end && !failed_.load(std::memory_order_relaxed); ++task) {
      loop_.run(loop_.body, task, thread);
    }
  } catch (...) {
    if (!failed_.exchange(true)) failure_ = std::current_exception();
  }
  if (asleep_.load(std::memory_order_relaxed)) {
    thread_local std::int64_t seen = 0;
    const std::int64_t total = core_delay();
    delay_.store(total - std::exchange(seen, total), std::memory_order_relaxed);
  }
  if (finished_.fetch_add(1) + 1 == pieces) finished_.notify_one();
}

std::int64_t SharedLoop::wait() noexcept {
  const auto all_done = [this] { return finished_.load(std::memory_order_acquire) == pieces_; };
  if (all_done() || spin_until(all_done)) return 0;
  asleep_.store(true, std::memory_order_relaxed);
  for (std::uint32_t count; (count = finished_.load(std::memory_order_acquire)) != pieces_;) {
    finished_.wait(count, std::memory_order_acquire);
  }
  return delay_.load(std::memory_order_relaxed);
}

std::exception_ptr SharedLoop::failure() noexcept { return std::exchange(failure_, nullptr); }

namespace {

thread_local bool in_a_loop = false;

// State of the calling thread as a caller of loops.
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

// Number of workers at hand, up to the number asked for; missing ones are started.
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

namespace {

std::atomic<Workers*> the_workers = nullptr;
std::mutex making;

// Workers run this code until the process ends, so it must stay when a plugin that contains it is unloaded.
void stay_loaded() {
  Dl_info here{};
  if (::dladdr(reinterpret_cast<void*>(&stay_loaded), &here) == 0 || here.dli_fname == nullptr) return;
  ::dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void before_fork() { making.lock(); }
void after_fork_in_parent() { making.unlock(); }
// Threads do not survive a fork: the child leaves the parent's workers to themselves and makes its own.
void after_fork_in_child() {
  the_workers.store(nullptr, std::memory_order_relaxed);
  making.unlock();
}

Workers& make_workers() {
  const std::lock_guard lock(making);
  if (Workers* const made = the_workers.load(std::memory_order_relaxed)) return *made;
  static const int prepared = (stay_loaded(), ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child));
  (void)prepared;
  auto* const made = new Workers;
  the_workers.store(made, std::memory_order_release);
  return *made;
}

}  // namespace

void run_loop(const Loop& loop) {
  if (loop.threads <= 1 || loop.tasks <= 1 || in_a_shared_loop()) return run_alone(loop);
  Workers* const made = the_workers.load(std::memory_order_acquire);
  (made != nullptr ? *made : make_workers()).run(loop);
}

namespace {

// More threads than this on a machine with fewer cores is a mistake, not a wish.
constexpr int kEnoughThreads = 64;

}  // namespace

int default_threads() noexcept { return std::max(1, omp_get_max_threads()); }

int threads_for(int requested) noexcept {
  if (requested <= 0) return default_threads();
  return std::min(requested, std::max(kEnoughThreads, omp_get_num_procs()));
}

int threads_for(int requested, double multiply_adds) noexcept {
  constexpr double kWorthATeam = 1 << 19;
  return requested <= 0 && multiply_adds < kWorthATeam ? 1 : threads_for(requested);
}

}  // namespace sharpmax
