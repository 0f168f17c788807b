// A Fold is what a share of a row's keys leaves of its attention: the survey of its scores and the sum of
// its values, each times exp(score - survey.max). Scores have their temperature in them.
//
// Folds of disjoint shares merge as surveys do: Fold{} is the identity, to the last bit, and merge() is
// commutative. A fold is finished by scale(): what its sum must still be multiplied by to be the output.
//
// Rounding makes the order of merging visible in the last bits. So there is one order, ShareTree, which
// depends on the number of a share alone: not on threads, machines, or how many shares a row has. A row of at
// most kShareKeys keys is one share and is never merged.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sharpmax/survey.h"

namespace sharpmax {

struct Fold {
  Survey survey;
  std::span<float> sum = {};  // memory of the caller; [value_feature]

  // 1 / (sum of exp(score - max) + sink exp(-max)); 0 if every key was masked.
  double scale(double sink = 0.0) const noexcept {
    if (survey.empty()) return 0.0;
    return 1.0 / (1.0 + survey.tail + (sink > 0.0 ? sink * std::exp(-survey.max) : 0.0));
  }
};

// Puts the fold of both shares into `into`. Both sums have the same number of features.
void merge(Fold& into, const Fold& from) noexcept;

// Keys of a share. Key k of a row's segment is in share k / kShareKeys, whatever keys the row itself sees.
inline constexpr std::int64_t kShareKeys = 16384;

constexpr std::int64_t shares_of(std::int64_t keys) noexcept { return (keys + kShareKeys - 1) / kShareKeys; }

// The order in which shares merge. Nodes of the tree hold shares [k 2^l, (k + 1) 2^l), so a node is the same
// in a short row and in a long one; shares that are missing or empty change nothing.
//
// Values come first share first, into slots that the caller owns. merge(into, from) joins two of them, `into`
// holding the earlier shares.
template <class Value>
class ShareTree {
 public:
  // The most slots that `shares` shares need.
  static constexpr std::size_t slots_for(std::int64_t shares) noexcept {
    return shares < 2 ? 1 : std::bit_width(static_cast<std::uint64_t>(shares - 1)) + std::size_t{1};
  }
  explicit ShareTree(std::span<Value> slots) noexcept : slots_(slots) {}

  // The slot for share `first`, or for a node that begins with it. Numbers ascend.
  template <class Merge>
  Value& next(std::int64_t first, const Merge& merge) {
    while (count_ > 1 && end_of_join(firsts_[count_ - 2], firsts_[count_ - 1]) <= first) join(merge);
    firsts_[count_] = first;
    return slots_[count_++];
  }

  // The fold of all shares. There was at least one.
  template <class Merge>
  Value& finish(const Merge& merge) {
    while (count_ > 1) join(merge);
    return slots_[0];
  }

 private:
  // One past the last share of the smallest node that holds both.
  static std::int64_t end_of_join(std::int64_t a, std::int64_t b) noexcept {
    const int level = std::bit_width(static_cast<std::uint64_t>(a ^ b));
    return ((b >> level) + 1) << level;
  }
  template <class Merge>
  void join(const Merge& merge) {
    merge(slots_[count_ - 2], slots_[count_ - 1]);
    --count_;
  }

  std::span<Value> slots_;
  std::int64_t firsts_[64] = {};  // of the values in slots: levels of their joins fall, so 64 are enough
  std::size_t count_ = 0;
};

// Shares [begin, end) of a row of `shares` as the fewest nodes of its tree, first to last: visit(first, last) for
// shares [first, last). An owner of that run has to hand on one value for each.
template <class Visit>
void for_each_share_node(std::int64_t begin, std::int64_t end, std::int64_t shares, const Visit& visit) {
  while (begin < end) {
    int level = begin == 0 ? 62 : std::countr_zero(static_cast<std::uint64_t>(begin));
    // The last node of a row may be cut short by the end of the row, and of nothing else.
    while (end < shares && (std::int64_t{1} << level) > end - begin) --level;
    const std::int64_t last = (std::int64_t{1} << level) > end - begin ? end : begin + (std::int64_t{1} << level);
    visit(begin, last);
    begin = last;
  }
}

}  // namespace sharpmax
