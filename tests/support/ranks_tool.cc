// Rows whose keys are split over the processes of a launcher, under every normalizer: what they came to, as one number, and
// what went through the group. One line per normalizer, from rank 0: hashes, and the bytes that all ranks gave in each call
// of the group, forward and backward.
//
//   ranks_tool KEYS [NORMALIZER...]    default: all of the family
//
// Keys are drawn by their number, so every process draws its own. The same lines must come from any number of processes over
// any MPI, but for bytes, which depend on the number of processes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "cluster/launched_group.h"
#include "normalizer/definition.h"
#include "sharpmax/error.h"
#include "sharpmax/split.h"
#include "support/simulated_ranks.h"

namespace sharpmax::test {
namespace {

constexpr std::int64_t kFeatures = 2, kValueFeatures = 3;

// SplitMix64's mix of a counter, as a number from -1 to 1.
float drawn(std::uint64_t counter) {
  std::uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return static_cast<float>(static_cast<double>(z >> 11) * 0x1p-52 - 1.0);
}

Tensor<float, 4> drawn_rows(const KeyRun& run, std::int64_t features, std::uint64_t stream) {
  Tensor<float, 4> rows({1, 1, run.size(), features});
  for (std::int64_t i = 0; i < run.size() * features; ++i)
    rows.data()[i] = drawn((stream << 56) + static_cast<std::uint64_t>(run.begin * features + i));
  return rows;
}

// FNV-1a.
std::uint64_t hashed(std::span<const double> values, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const std::byte byte : std::as_bytes(values)) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

// Gradients of keys lie where the keys are. Keys of a share have one owner, so hashes of shares are the same on any ranks.
std::uint64_t hash_of_all_shares(Group& group, const KeyRun& run, const Tensor<double, 4>& gradient) {
  std::vector<std::uint64_t> own;
  const std::int64_t features = gradient.shape()[3];
  for (std::int64_t first = 0; first < run.size(); first += kShareKeys) {
    const std::int64_t keys = std::min(kShareKeys, run.size() - first);
    own.push_back(hashed({gradient.data() + first * features, static_cast<std::size_t>(keys * features)}));
  }
  std::uint64_t hash = 0;
  for (const Group::Bytes& bytes : group.gather(std::as_bytes(std::span(own))))
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  return hash;
}

// Another group's calls, with the bytes that this rank gave to each.
class RecordedGroup final : public Group {
 public:
  explicit RecordedGroup(Group& group) : group_(group) {}

  int rank() const noexcept override { return group_.rank(); }
  int size() const noexcept override { return group_.size(); }
  std::vector<Bytes> gather(std::span<const std::byte> mine) override {
    bytes_.push_back(static_cast<std::int64_t>(mine.size()));
    return group_.gather(mine);
  }
  std::vector<Bytes> exchange(std::span<const Bytes> to) override {
    bytes_.push_back(0);
    for (const Bytes& part : to) bytes_.back() += static_cast<std::int64_t>(part.size());
    return group_.exchange(to);
  }
  Bytes broadcast(std::span<const std::byte> bytes, int root) override {
    bytes_.push_back(rank() == root ? static_cast<std::int64_t>(bytes.size()) : 0);
    return group_.broadcast(bytes, root);
  }

  // Of all ranks, call by call.
  std::vector<std::int64_t> bytes_of_all() const {
    std::vector<std::int64_t> all;
    for (const std::int64_t bytes : bytes_) all.push_back(group_.sum(bytes));
    return all;
  }

 private:
  Group& group_;
  std::vector<std::int64_t> bytes_;
};

class Case {
 public:
  Case(Group& group, std::int64_t keys)
      : group_(group),
        keys_(keys),
        run_(keys_of_rank(keys, group.rank(), group.size())),
        query_(drawn_rows({0, 1}, kFeatures, 1)),
        key_(drawn_rows(run_, kFeatures, 2)),
        value_(drawn_rows(run_, kValueFeatures, 3)) {
    for (float& q : query_.elements()) q *= 8.0f;
  }

  std::string line(const std::string& text) {
    const AnyNormalizer normalizer = AnyNormalizer::parse(text);
    const AttentionRequest own{query_, key_, value_};
    Tensor<double, 4> out({1, 1, 1, kValueFeatures});
    RecordedGroup forward(group_), backward(group_);
    attend_split(own, keys_, normalizer, forward, out, nullptr, {.threads = 1});
    Tensor<double, 4> d_out({1, 1, 1, kValueFeatures}, 1.0), d_query({1, 1, 1, kFeatures});
    Tensor<double, 4> d_key({1, 1, run_.size(), kFeatures}), d_value({1, 1, run_.size(), kValueFeatures});
    attend_split_backward(own, keys_, normalizer, backward, d_out, {.query = d_query, .key = d_key, .value = d_value},
                          {.threads = 1});
    const std::uint64_t gradients = hash_of_all_shares(group_, run_, d_key) ^ (hash_of_all_shares(group_, run_, d_value) << 1);
    return fmt::format("{} forward {:016x} backward {:016x} bytes {} {}", text, hashed(out.elements()),
                       hashed(d_query.elements()) ^ gradients, fmt::join(forward.bytes_of_all(), ","),
                       fmt::join(backward.bytes_of_all(), ","));
  }

 private:
  Group& group_;
  std::int64_t keys_;
  KeyRun run_;
  Tensor<float, 4> query_, key_, value_;
};

void run(int argc, char** argv) {
  const std::unique_ptr<Group> group = group_of_this_program();
  std::vector<std::string> texts(argv + 2, argv + argc);
  if (texts.empty())
    for (const NormalizerInfo& info : family()) texts.emplace_back(info.name);
  Case c(*group, std::atoll(argv[1]));
  for (const std::string& text : texts) {
    const std::string line = c.line(text);
    if (group->rank() == 0) fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace sharpmax::test

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const sharpmax::test::MpiOfSimulation mpi;
    sharpmax::test::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ranks_tool: {}\n", error.what());
    return 1;
  }
  return 0;
}
