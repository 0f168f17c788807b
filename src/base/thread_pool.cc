#include "base/thread_pool.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/workers.h"

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

}  // namespace sharpmax
