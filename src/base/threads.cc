#include "base/threads.h"

#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/workers.h"
#include "sharpmax/machine.h"

namespace sharpmax {
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
