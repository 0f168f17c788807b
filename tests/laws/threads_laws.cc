// Laws of parallel_for: every task once, and an exception that ends it.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "base/threads.h"

namespace sharpmax::test {
namespace {

TEST(ParallelFor, DoesEveryTaskOnceWithThreadsThatAreThere) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> done(100);
    parallel_for(threads, 100, [&](std::int64_t task, int thread) {
      EXPECT_TRUE(thread >= 0 && thread < threads);
      ++done[static_cast<std::size_t>(task)];
    });
    for (const auto& times : done) EXPECT_EQ(times, 1);
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
  }
}

}  // namespace
}  // namespace sharpmax::test
