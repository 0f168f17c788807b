// Laws of parallel_for: every task once, exceptions that end it, and callers who never wait for a late worker.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/threads.h"
#include "base/workers.h"

#if defined(__SANITIZE_THREAD__)
#define SHARPMAX_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHARPMAX_THREAD_SANITIZER
#endif
#endif

namespace sharpmax::test {
namespace {

// How often each task ran, in a loop of so many threads.
std::vector<int> times_done(int threads, std::int64_t tasks) {
  std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
  parallel_for(threads, tasks, [&](std::int64_t task, int) { ++done[static_cast<std::size_t>(task)]; });
  return {done.begin(), done.end()};
}

std::vector<int> once(std::int64_t tasks) { return std::vector<int>(static_cast<std::size_t>(tasks), 1); }

// Workers of the test's own. Nothing has kept them busy, so their first loop has as many as it wants.
Workers& never_destroyed() {
  static auto& all = *new std::vector<std::unique_ptr<Workers>>;
  return *all.emplace_back(std::make_unique<Workers>());
}

template <class Body>
void loop_with(Workers& workers, int threads, std::int64_t tasks, const Body& body) {
  workers.run({[](const void* of_body, std::int64_t task, int thread) {
                 (*static_cast<const Body*>(of_body))(task, thread);
               },
               &body, tasks, threads});
}

TEST(ParallelFor, DoesEveryTaskOnce) {
  for (const int threads : {1, 2, 5, threads_for(1'000'000'000)}) {
    for (const std::int64_t tasks : {0, 1, 2, 3, 100, 10000}) EXPECT_EQ(times_done(threads, tasks), once(tasks));
  }
}

// With as many tasks as threads, each waiting for all the others, every thread has one.
TEST(Workers, AllTakePartEachWithANumberOfItsOwn) {
  constexpr int kThreads = 5;
  for (int round = 0; round < 4; ++round) {
    Workers& workers = never_destroyed();
    std::latch all_begun(kThreads);
    std::array<std::atomic<int>, kThreads> seen{};
    loop_with(workers, kThreads, kThreads, [&](std::int64_t, int thread) {
      if (thread >= 0 && thread < kThreads) ++seen[static_cast<std::size_t>(thread)];
      all_begun.arrive_and_wait();
    });
    for (const auto& times : seen) EXPECT_EQ(times, 1);
  }
}

// Plain memory, which ThreadSanitizer watches: a worker reads what the caller wrote before the loop, the caller reads
// what the worker wrote at the end of its task.
TEST(Workers, SeeWhatTheCallerWroteAndItSeesTheirs) {
  long value = 0;
  for (int round = 0; round < 20; ++round) {
    Workers& workers = never_destroyed();
    std::latch both_begun(2);
    value += 1;
    loop_with(workers, 2, 2, [&](std::int64_t, int thread) {
      const long before = thread == 1 ? value : 0;
      both_begun.arrive_and_wait();
      if (thread == 0) return;
      for (volatile int i = 0; i < 10000;) i = i + 1;  // the caller has to wait
      value = before + 1;
    });
    EXPECT_EQ(value, 2 * (round + 1));
  }
}

TEST(ParallelFor, ThrowsWhatATaskThrewAndBeginsNoOther) {
  constexpr std::int64_t kTasks = 100000;
  for (const int threads : {1, 2, 5}) {
    std::atomic<std::int64_t> begun = 0;
    EXPECT_THROW(parallel_for(threads, kTasks,
                              [&](std::int64_t, int) {
                                ++begun;
                                throw std::runtime_error("no");
                              }),
                 std::runtime_error);
    EXPECT_GE(begun, 1);
    EXPECT_LE(begun, threads);  // each throws at its first; none begins a second
    EXPECT_EQ(times_done(threads, 100), once(100));
  }
}

TEST(ParallelFor, WithinATaskOfAnotherRunsOnTheThreadThatAsks) {
  Workers& workers = never_destroyed();
  std::latch both_begun(2);
  std::atomic<int> elsewhere = 0, count = 0;
  loop_with(workers, 2, 2, [&](std::int64_t, int) {
    both_begun.arrive_and_wait();
    const auto outer = std::this_thread::get_id();
    parallel_for(3, 1000, [&](std::int64_t, int thread) {
      for (volatile int i = 0; i < 10000;) i = i + 1;  // long enough for others to come
      if (thread != 0 || std::this_thread::get_id() != outer) ++elsewhere;
      ++count;
    });
  });
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(count, 2 * 1000);
}

TEST(ParallelFor, ServesManyCallersAtATime) {
  constexpr int kCallers = 12;  // more than there are places for loops that share workers
  std::vector<std::atomic<int>> wrong(kCallers);
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&wrong, c] {
      for (int round = 0; round < 200; ++round) {
        if (times_done(1 + (c + round) % 4, 37) != once(37)) ++wrong[static_cast<std::size_t>(c)];
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const auto& count : wrong) EXPECT_EQ(count, 0);
}

// The only worker is kept in a task of the first caller until the second caller's loop has ended.
TEST(Workers, ThatAreLateKeepNobodyWaiting) {
  Workers& workers = never_destroyed();
  std::latch both_begun(2), second_has_ended(1);
  std::thread first([&] {
    loop_with(workers, 2, 2, [&](std::int64_t, int) {
      both_begun.count_down();
      second_has_ended.wait();
    });
  });
  both_begun.wait();
  std::atomic<int> done = 0;
  loop_with(workers, 2, 100, [&](std::int64_t, int thread) { done += thread == 0 ? 1 : 1000; });
  second_has_ended.count_down();
  first.join();
  EXPECT_EQ(done, 100);  // all by the caller, who did not wait for the worker
}

// ThreadSanitizer allows no new threads after a fork of a process that has several.
#ifndef SHARPMAX_THREAD_SANITIZER
TEST(ParallelFor, HasWorkersInAForkedChildAndStillInItsParent) {
  // Again and again: on a busy machine a loop may run without its worker for a while.
  const auto with_a_worker = [] {
    for (std::atomic<bool> came = false; !came;)
      parallel_for(2, 1000, [&](std::int64_t, int thread) { thread == 0 ? std::this_thread::yield() : came.store(true); });
  };
  // The worker has come then: one that is only starting may hold locks of a sanitizer, for which the child would wait.
  with_a_worker();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // a child whose worker never comes
    with_a_worker();
    ::_exit(times_done(3, 100) == once(100) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(times_done(3, 100), once(100));
}
#endif

}  // namespace
}  // namespace sharpmax::test
