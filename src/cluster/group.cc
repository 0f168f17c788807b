// Groups that need no transport: of one process, and counted ones; and what the ranks of a group agree on.
#include <fmt/format.h>

#include <algorithm>

#include "base/in_quotes.h"
#include "cluster/launched_group.h"
#include "sharpmax/cluster.h"
#include "sharpmax/error.h"
#include "sharpmax/machine.h"

namespace sharpmax {
namespace {

class SerialGroup final : public Group {
 public:
  int rank() const noexcept override { return 0; }
  int size() const noexcept override { return 1; }
  std::vector<Bytes> gather(std::span<const std::byte> mine) override { return {Bytes(mine.begin(), mine.end())}; }
  std::vector<Bytes> exchange(std::span<const Bytes> to) override { return {to.begin(), to.end()}; }
  Bytes broadcast(std::span<const std::byte> bytes, int) override { return {bytes.begin(), bytes.end()}; }
};

std::string text_in(const Group::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A few words of both texts from where they differ.
std::string excerpt(const std::string& text, std::size_t from) {
  constexpr std::size_t kBefore = 20, kLength = 60;
  const std::size_t begin = from > kBefore ? from - kBefore : 0;
  return in_quotes((begin > 0 ? "..." : "") + text.substr(begin, kLength) + (begin + kLength < text.size() ? "..." : ""));
}

}  // namespace

std::unique_ptr<Group> serial_group() { return std::make_unique<SerialGroup>(); }

std::unique_ptr<Group> launched_group(const Launch& launch, double patience) {
  return launch.several() ? mpi_group(launch, patience) : serial_group();
}

void CountedGroup::count_received(std::span<const Bytes> parts) {
  for (std::size_t p = 0; p < parts.size(); ++p)
    if (static_cast<int>(p) != rank()) traffic_.bytes_received += static_cast<std::int64_t>(parts[p].size());
}

std::vector<Group::Bytes> CountedGroup::gather(std::span<const std::byte> mine) {
  std::vector<Bytes> all = group_.gather(mine);
  ++traffic_.rounds;
  if (size() > 1) traffic_.bytes_sent += static_cast<std::int64_t>(mine.size());
  count_received(all);
  return all;
}

std::vector<Group::Bytes> CountedGroup::exchange(std::span<const Bytes> to) {
  std::vector<Bytes> all = group_.exchange(to);
  ++traffic_.rounds;
  for (std::size_t p = 0; p < to.size(); ++p)
    if (static_cast<int>(p) != rank()) traffic_.bytes_sent += static_cast<std::int64_t>(to[p].size());
  count_received(all);
  return all;
}

Group::Bytes CountedGroup::broadcast(std::span<const std::byte> bytes, int root) {
  Bytes all = group_.broadcast(bytes, root);
  ++traffic_.rounds;
  const auto size_in_bytes = static_cast<std::int64_t>(all.size());
  if (rank() != root) traffic_.bytes_received += size_in_bytes;
  if (rank() == root && size() > 1) traffic_.bytes_sent += size_in_bytes;
  return all;
}

void agree(Group& group, const std::string& what, const std::string& mine) {
  const std::vector<Group::Bytes> all = group.gather(std::as_bytes(std::span(mine)));
  const std::string first = text_in(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::string other = text_in(all[rank]);
    if (other == first) continue;
    const std::size_t from =
        static_cast<std::size_t>(std::mismatch(first.begin(), first.end(), other.begin(), other.end()).first - first.begin());
    throw Error(ErrorCode::bad_argument,
                fmt::format("processes that work together need the same {}: rank 0 has {}, rank {} has {}", what,
                            excerpt(first, from), rank, excerpt(other, from)));
  }
}

void agree_on_call(Group& group, const std::string& settings) {
  agree(group, "version of sharpmax", std::string(version()));
  agree(group, "instruction set (SHARPMAX_TARGET chooses it)", current_target());
  agree(group, "settings", settings);
}

}  // namespace sharpmax
