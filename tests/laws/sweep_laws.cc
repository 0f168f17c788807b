// Laws of sweeps: a piece has one owner, who loses it by ending in any way; pieces are dealt once, longest first.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <thread>

#include "storage/files.h"
#include "support/files.h"
#include "sweep/claims.h"
#include "sweep/deal.h"

namespace sharpmax::test {
namespace {

TEST(Claims, HaveOneOwnerAndAreFreeAfterIt) {
  const Folder folder("claims");
  const Claims ours(folder / "claims"), others(folder / "claims");
  {
    const std::optional<Claim> claim = ours.take("a");
    ASSERT_TRUE(claim && claim->locked());
    EXPECT_FALSE(others.take("a"));
    EXPECT_TRUE(others.take("b"));
    EXPECT_TRUE(others.any_held());
    const std::optional<Holder> holder = others.holder("a");
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->process, ::getpid());
    EXPECT_FALSE(holder->host.empty());
    EXPECT_FALSE(others.holder("a-that-nobody-took"));
    ours.clear();  // leaves claims that are held
    EXPECT_TRUE(others.holder("a"));
  }
  EXPECT_FALSE(others.holder("a"));
  EXPECT_TRUE(others.take("a"));
  ours.clear();
  EXPECT_FALSE(std::filesystem::exists(folder / "claims"));
}

// A child takes a claim, says so and is killed.
TEST(Claims, OfAKilledProcessAreFree) {
  const Folder folder("killed-claims");
  const Claims claims(folder / "claims");
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::optional<Claim> claim = claims.take("a");
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char said = 0;
  ASSERT_EQ(::read(ready[0], &said, 1), 1);
  EXPECT_FALSE(claims.take("a"));
  EXPECT_EQ(claims.holder("a")->process, child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(claims.holder("a"));
  EXPECT_TRUE(std::filesystem::exists(folder / "claims/a"));  // nobody was left to remove it
  EXPECT_TRUE(claims.take("a"));
  ::close(ready[0]);
  ::close(ready[1]);
}

std::vector<Piece> pieces_in(const Folder& folder, const std::vector<double>& costs) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < costs.size(); ++i)
    pieces.push_back({.name = "p" + std::to_string(i), .cost = costs[i], .file = folder / ("done" + std::to_string(i))});
  return pieces;
}

std::vector<std::size_t> order_in(const Folder& folder, const std::vector<double>& costs, const Launch& launch) {
  const Claims claims(folder / "claims");
  Deal deal(claims, pieces_in(folder, costs), launch);
  std::vector<std::size_t> order;
  while (const auto taken = deal.next()) order.push_back(taken->index);
  return order;
}

TEST(ClaimsByThreads, AreTakenWhileOthersThatEndRemoveTheirFolder) {
  const Folder folder("removed-claims");
  constexpr int kEnds = 400;
  std::vector<std::thread> owners;
  for (int owner = 0; owner < 4; ++owner)
    owners.emplace_back([&, owner] {
      const Claims claims(folder / "claims");
      for (int end = 0; end < kEnds; ++end) {
        EXPECT_NO_THROW(claims.take(std::to_string(owner)));  // nothing if the end of another looks at it just then
        claims.clear();
      }
    });
  for (std::thread& owner : owners) owner.join();
}

TEST(Deals, HandOutTheLongestFirstAndAProcessItsOwnShareFirst) {
  const Folder folder("order");
  const std::vector<double> costs = {1, 5, 3, 5, 2};
  EXPECT_EQ(order_in(folder, costs, {}), (std::vector<std::size_t>{1, 3, 2, 4, 0}));
  EXPECT_EQ(order_in(folder, costs, {"srun", 1, 2}), (std::vector<std::size_t>{3, 4, 1, 2, 0}));
  EXPECT_EQ(order_in(folder, costs, {"srun", 7, 9}), (std::vector<std::size_t>{1, 3, 2, 4, 0}));
}

TEST(Deals, LeaveOutWhatIsDoneAndWhatOthersHold) {
  const Folder folder("left");
  const Claims claims(folder / "claims");
  put(folder / "done2", "x");
  const std::optional<Claim> theirs = claims.take("p0");
  put(folder / "done1.9-9.partial", "half");
  Deal deal(claims, pieces_in(folder, {3, 2, 1}), {});
  {
    const auto taken = deal.next();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->index, 1u);
    EXPECT_FALSE(std::filesystem::exists(folder / "done1.9-9.partial"));  // of an owner that was killed
    EXPECT_FALSE(deal.next());
  }
  EXPECT_EQ(deal.left(), 1u);
  put(folder / "done0", "x");
  EXPECT_EQ(deal.left(), 0u);
}

// Several deals of one run, as several processes have them, each with several threads.
TEST(DealsByThreads, GiveEveryPieceToOneThread) {
  const Folder folder("threads");
  const Claims claims(folder / "claims");
  const std::vector<Piece> pieces = pieces_in(folder, std::vector<double>(40, 1.0));
  std::mutex mutex;
  std::vector<int> times(pieces.size());
  std::vector<std::unique_ptr<Deal>> deals;
  for (int process = 0; process < 3; ++process)
    deals.push_back(std::make_unique<Deal>(claims, pieces, Launch{"srun", process, 3}));
  std::vector<std::thread> threads;
  for (const auto& deal : deals) {
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, deal = deal.get()] {
        do {
          while (const auto taken = deal->next()) {
            {
              const std::lock_guard guard(mutex);
              ++times[taken->index];
            }
            write_text(pieces[taken->index].file, "x");
          }
        } while (deal->left() > 0);
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(times, std::vector<int>(pieces.size(), 1));
}

TEST(FirstTexts, StayAndAreNotReplaced) {
  const Folder folder("first");
  EXPECT_TRUE(write_first_text(folder / "a", "one"));
  EXPECT_FALSE(write_first_text(folder / "a", "two"));
  EXPECT_EQ(contents(folder / "a"), "one");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "."), {}), 1);  // nothing half-written
}

}  // namespace
}  // namespace sharpmax::test
