// Laws of Crowd: how many threads loops use after time was lost to other processes. The clock is the test's.
#include "base/workers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sharpmax::test {
namespace {

constexpr auto kWindow = Crowd::kWindow;
constexpr auto kMuch = Crowd::kTolerated + 1;

TEST(Crowd, LeavesAllThreadsToACallerThatLosesLittle) {
  Crowd crowd;
  crowd.on_window(Crowd::kTolerated, kWindow, kWindow);
  EXPECT_EQ(crowd.threads_now(2, kWindow), 2);
}

TEST(Crowd, LeavesOneThreadOutForAPauseAfterALoss) {
  Crowd crowd;
  crowd.on_window(kMuch, kWindow, kWindow);
  EXPECT_EQ(crowd.threads_now(8, kWindow), 7);
  EXPECT_EQ(crowd.threads_now(1, kWindow), 1);
  EXPECT_EQ(crowd.threads_now(8, kWindow + Crowd::kShortestPause - 1), 7);
  EXPECT_EQ(crowd.threads_now(8, kWindow + Crowd::kShortestPause), 8);
}

TEST(Crowd, MeasuresALossByTheTimeInWhichItFell) {
  Crowd crowd;
  crowd.on_window(kMuch, 2 * kWindow, kWindow);
  EXPECT_EQ(crowd.threads_now(2, kWindow), 2);
}

TEST(Crowd, LeavesMoreOutWhileLossesGoOnButNeverTheCaller) {
  Crowd crowd;
  for (int loss = 1; loss <= 5; ++loss) {
    crowd.on_window(kMuch, kWindow, kWindow);
    EXPECT_EQ(crowd.threads_now(4, kWindow), loss < 3 ? 4 - loss : 1);
  }
}

// The end of each pause is a trial; a process that is still there makes it fail.
TEST(Crowd, TriesAgainLessAndLessOftenBesideAProcessThatStays) {
  Crowd crowd;
  Crowd::Nanoseconds now = kWindow, pause = Crowd::kShortestPause;
  for (int trial = 0; trial < 10; ++trial) {
    crowd.on_window(kMuch, kWindow, now);
    EXPECT_EQ(crowd.threads_now(2, now + pause - 1), 1);
    now += pause;
    EXPECT_EQ(crowd.threads_now(2, now), 2);
    now += kWindow;
    pause = std::min(2 * pause, Crowd::kLongestPause);
  }
}

TEST(Crowd, ForgetsAProcessThatHasGone) {
  Crowd crowd;
  crowd.on_window(kMuch, kWindow, kWindow);
  Crowd::Nanoseconds now = kWindow + Crowd::kShortestPause;
  ASSERT_EQ(crowd.threads_now(2, now), 2);
  now += kWindow;
  crowd.on_window(kMuch, kWindow, now);  // again: the pause is twice as long
  now += 2 * Crowd::kShortestPause;
  ASSERT_EQ(crowd.threads_now(2, now), 2);
  now += 2 * Crowd::kShortestPause;  // and then nothing for as long
  crowd.on_window(kMuch, kWindow, now);
  EXPECT_EQ(crowd.threads_now(2, now + Crowd::kShortestPause - 1), 1);
  EXPECT_EQ(crowd.threads_now(2, now + Crowd::kShortestPause), 2);
}

}  // namespace
}  // namespace sharpmax::test
