#include "base/shared_loop.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

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

}  // namespace sharpmax
