// Rounds: shares visited by threads, parts merged along the share tree, nodes of the tree gathered from all ranks.
#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>

#include "attention/parts/split_row.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "sharpmax/fold.h"

namespace sharpmax {
namespace {

// Shares that one thread folds at a time: a node of the tree.
constexpr std::int64_t kTaskShares = 64;

// Parts of all live rows at one node.
using Node = std::vector<SharePart>;

struct NodeRange {
  std::int64_t first = 0, last = 0;
};

std::vector<NodeRange> nodes_of(const ShareRun& run, std::int64_t shares) {
  std::vector<NodeRange> nodes;
  for_each_share_node(run.begin, run.end, shares,
                      [&](std::int64_t first, std::int64_t last) { nodes.push_back({first, last}); });
  return nodes;
}

// The nodes cut where they are larger than a task.
std::vector<NodeRange> tasks_of(std::span<const NodeRange> nodes) {
  std::vector<NodeRange> tasks;
  for (const NodeRange& node : nodes)
    for (std::int64_t at = node.first; at < node.last; at += kTaskShares)
      tasks.push_back({at, std::min(at + kTaskShares, node.last)});
  return tasks;
}

// Values that come first share first, folded along the tree.
class NodeFold {
 public:
  NodeFold(std::span<InRounds* const> live, std::int64_t shares)
      : live_(live), slots_(ShareTree<Node>::slots_for(shares)), tree_(slots_) {}

  Node& next(std::int64_t first) {
    Node& node = tree_.next(first, Join{live_});
    node.assign(live_.size(), {});
    return node;
  }
  Node finish() { return std::move(tree_.finish(Join{live_})); }

 private:
  struct Join {
    std::span<InRounds* const> live;
    void operator()(Node& into, const Node& from) const {
      for (std::size_t i = 0; i < live.size(); ++i) live[i]->merge(into[i], from[i]);
    }
  };

  std::span<InRounds* const> live_;
  std::vector<Node> slots_;
  ShareTree<Node> tree_;
};

void put(Group::Bytes& bytes, const void* data, std::size_t size) {
  const auto* const from = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), from, from + size);
}

void put_list(Group::Bytes& bytes, const std::vector<double>& list) {
  const std::uint64_t size = list.size();
  put(bytes, &size, sizeof size);
  put(bytes, list.data(), list.size() * sizeof(double));
}

const std::byte* take_list(const std::byte* at, std::vector<double>& list) {
  std::uint64_t size = 0;
  std::memcpy(&size, at, sizeof size);
  list.resize(size);
  if (size > 0) std::memcpy(list.data(), at + sizeof size, size * sizeof(double));
  return at + sizeof size + size * sizeof(double);
}

// One round of the live rows: the nodes of this rank.
class Round {
 public:
  Round(std::span<InRounds* const> live, std::int64_t shares) : live_(live), shares_(shares) {}

  std::vector<Node> visit(std::span<const NodeRange> nodes, int threads, const VisitShare& visit,
                          const SharesDone& progress) const {
    const std::vector<NodeRange> tasks = tasks_of(nodes);
    std::vector<Node> folded(tasks.size());
    std::mutex progress_mutex;
    parallel_for(threads, static_cast<std::int64_t>(tasks.size()), [&](std::int64_t task, int thread) {
      const NodeRange& range = tasks[to_size(task)];
      NodeFold fold(live_, shares_);
      for (std::int64_t share = range.first; share < range.last; ++share) visit(share, thread, live_, fold.next(share));
      folded[to_size(task)] = fold.finish();
      if (!progress) return;
      const std::lock_guard lock(progress_mutex);
      progress(range.last - range.first);
    });
    std::vector<Node> values;
    std::size_t at = 0;
    for (const NodeRange& node : nodes) {
      NodeFold fold(live_, shares_);
      for (; at < tasks.size() && tasks[at].first < node.last; ++at) fold.next(tasks[at].first) = std::move(folded[at]);
      values.push_back(fold.finish());
    }
    return values;
  }

  // Everybody's nodes, folded by everybody.
  Node gather(Group& group, std::span<const Node> mine) const {
    Group::Bytes bytes;
    for (const Node& node : mine)
      for (const SharePart& part : node) {
        put_list(bytes, part.numbers);
        put_list(bytes, part.sum);
      }
    const std::vector<Group::Bytes> all = group.gather(bytes);
    NodeFold fold(live_, shares_);
    for (int rank = 0; rank < group.size(); ++rank) {
      const std::byte* at = all[to_size(rank)].data();
      for (const NodeRange& node : nodes_of(shares_of_rank(shares_, rank, group.size()), shares_))
        for (SharePart& part : fold.next(node.first)) at = take_list(take_list(at, part.numbers), part.sum);
    }
    return fold.finish();
  }

 private:
  std::span<InRounds* const> live_;
  std::int64_t shares_;
};

}  // namespace

void add_sums(SharePart& into, double keep, const SharePart& from, double take) {
  if (keep != 1.0)
    for (double& value : into.sum) value *= keep;
  if (from.sum.empty()) return;
  if (into.sum.empty()) into.sum.resize(from.sum.size(), 0.0);
  for (std::size_t i = 0; i < from.sum.size(); ++i) into.sum[i] += take * from.sum[i];
}

ShareRun shares_of_rank(std::int64_t shares, int rank, int size) {
  constexpr std::int64_t kGrainsPerRank = 16;
  const auto grain =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, shares / size / kGrainsPerRank))));
  const auto cut = [&](std::int64_t p) { return p == size ? shares : shares * p / size / grain * grain; };
  return {cut(rank), cut(rank + 1)};
}

void run_rounds(Group& group, std::span<InRounds* const> rows, std::int64_t shares, int threads, const VisitShare& visit,
                const SharesDone& progress) {
  const std::vector<NodeRange> nodes = nodes_of(shares_of_rank(shares, group.rank(), group.size()), shares);
  for (;;) {
    std::vector<InRounds*> live;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(live), [](const InRounds* row) { return !row->done(); });
    if (live.empty()) return;
    const Round round(live, shares);
    const Node whole = round.gather(group, round.visit(nodes, threads, visit, progress));
    for (std::size_t i = 0; i < live.size(); ++i) live[i]->resolve(whole[i]);
  }
}

}  // namespace sharpmax
