// A Group is a number of processes that work on one call together, and the bytes that they exchange.
//
// A group moves bytes and compares or adds whole numbers. It never adds floating-point numbers: sums are folded by the
// library along one tree (sharpmax/fold.h), so that their bits depend neither on the number of processes nor on the
// transport. Every rank makes the same calls in the same order.
//
// The abstract class is the way to bring a transport of one's own. serial_group() is a group of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sharpmax {

class Group {
 public:
  using Bytes = std::vector<std::byte>;

  virtual ~Group() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  // What every rank gave, by rank, on all ranks. Lengths may differ.
  virtual std::vector<Bytes> gather(std::span<const std::byte> mine) = 0;
  // to[p] goes to rank p; returns what every rank had for this one, by rank.
  virtual std::vector<Bytes> exchange(std::span<const Bytes> to) = 0;
  // What rank `root` gave, on all ranks.
  virtual Bytes broadcast(std::span<const std::byte> bytes, int root) = 0;

  // Exact, of one number per rank. The sum must not overflow.
  std::int64_t sum(std::int64_t mine) {
    std::int64_t all = 0;
    for_each_number(mine, [&](std::int64_t number) { all += number; });
    return all;
  }
  std::int64_t largest(std::int64_t mine) {
    std::int64_t all = mine;
    for_each_number(mine, [&](std::int64_t number) { all = number > all ? number : all; });
    return all;
  }

 private:
  template <class Visit>
  void for_each_number(std::int64_t mine, const Visit& visit) {
    for (const Bytes& bytes : gather(std::as_bytes(std::span(&mine, 1)))) {
      std::int64_t number = 0;
      std::memcpy(&number, bytes.data(), sizeof number);
      visit(number);
    }
  }
};

// A group of one: nothing is sent.
std::unique_ptr<Group> serial_group();

// What went through a group.
struct Traffic {
  std::int64_t rounds = 0;          // calls of gather, exchange and broadcast
  std::int64_t bytes_sent = 0;      // by this rank, counted once however many receive them
  std::int64_t bytes_received = 0;  // from other ranks
};

// Another group's calls, counted.
class CountedGroup final : public Group {
 public:
  explicit CountedGroup(Group& group) : group_(group) {}

  int rank() const noexcept override { return group_.rank(); }
  int size() const noexcept override { return group_.size(); }
  std::vector<Bytes> gather(std::span<const std::byte> mine) override;
  std::vector<Bytes> exchange(std::span<const Bytes> to) override;
  Bytes broadcast(std::span<const std::byte> bytes, int root) override;

  const Traffic& traffic() const noexcept { return traffic_; }

 private:
  void count_received(std::span<const Bytes> parts);

  Group& group_;
  Traffic traffic_;
};

// Throws Error{bad_argument} on every rank unless all ranks gave the same text. `what` names it in the sentence:
// "the settings". The sentence names the first rank that differs from rank 0, and both texts if they differ.
void agree(Group& group, const std::string& what, const std::string& mine);

// agree() on version, instruction set and `settings`: what bits depend on.
void agree_on_call(Group& group, const std::string& settings);

}  // namespace sharpmax
