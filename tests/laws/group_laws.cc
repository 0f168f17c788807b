// Laws of Group: who gets which bytes, what is counted, and what ranks must agree on.
#include <gtest/gtest.h>

#include <string>

#include "cluster/launched_group.h"
#include "sharpmax/cluster.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"
#include "support/thread_group.h"

namespace sharpmax::test {
namespace {

Group::Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
std::string text_of(const Group::Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Every rank has a text of its own length.
std::string text_for(int from, int to) { return std::string(static_cast<std::size_t>(from), 'a') + std::to_string(to); }

void expect_all_calls(Group& group) {
  const int size = group.size(), rank = group.rank();
  const std::vector<Group::Bytes> all = group.gather(bytes_of(text_for(rank, 0)));
  ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
  std::vector<Group::Bytes> to;
  for (int p = 0; p < size; ++p) to.push_back(bytes_of(text_for(rank, p)));
  const std::vector<Group::Bytes> from = group.exchange(to);
  for (int p = 0; p < size; ++p) {
    EXPECT_EQ(text_of(all[static_cast<std::size_t>(p)]), text_for(p, 0));
    EXPECT_EQ(text_of(from[static_cast<std::size_t>(p)]), text_for(p, rank));
    EXPECT_EQ(text_of(group.broadcast(bytes_of(text_for(rank, rank)), p)), text_for(p, p));
  }
  EXPECT_EQ(group.sum(rank + 1), size * (size + 1) / 2);
  EXPECT_EQ(group.largest(-rank), 0);
}

TEST(GroupLaws, EveryRankGetsWhatWasMeantForIt) {
  expect_all_calls(*serial_group());
  for (int ranks = 1; ranks <= 9; ++ranks) with_ranks(ranks, expect_all_calls);
}

TEST(GroupLaws, TrafficIsCountedOnce) {
  with_ranks(3, [](Group& group) {
    CountedGroup counted(group);
    counted.gather(bytes_of(std::string(static_cast<std::size_t>(group.rank() + 1), 'x')));
    EXPECT_EQ(counted.traffic().rounds, 1);
    EXPECT_EQ(counted.traffic().bytes_sent, group.rank() + 1);
    EXPECT_EQ(counted.traffic().bytes_received, 6 - (group.rank() + 1));
    counted.broadcast(bytes_of("four"), 1);
    EXPECT_EQ(counted.traffic().rounds, 2);
    EXPECT_EQ(counted.traffic().bytes_sent, group.rank() + 1 + (group.rank() == 1 ? 4 : 0));
  });
}

TEST(GroupLaws, RanksWithOtherSettingsAreRefusedOnAllRanksInOneSentence) {
  with_ranks(3, [](Group& group) {
    agree_on_call(group, "the same");
    try {
      agree_on_call(group, group.rank() == 2 ? "sizes 32" : "sizes 16");
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "processes that work together need the same settings: rank 0 has 'sizes 16', rank 2 has 'sizes 32'");
    }
  });
}

TEST(GroupLaws, AProcessThatIsAloneNeedsNoMpi) { EXPECT_EQ(launched_group(Launch{})->size(), 1); }

TEST(GroupLaws, ALauncherWithoutMpiIsRefusedBeforeMpiBegins) {
  try {
    mpi_group({.launcher = "torchrun", .rank = 0, .size = 2}, 1.0);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("torchrun started 2 processes"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sharpmax::test
