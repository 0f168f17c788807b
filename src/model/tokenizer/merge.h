// The heart of every BPE: neighbours are joined, the best pair first, until none is left to join.
//
// A priority queue makes a word of n symbols cost n log n, so a megabyte without a space is a word like any
// other. Equal pairs are joined from left to right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

constexpr Token kNoToken = -1;

struct Symbol {
  Token token = kNoToken;
  std::uint32_t begin = 0;  // in the word
  std::uint32_t size = 0;   // bytes; 0: joined to the symbol on its left
};

struct Join {
  double order = 0;  // smaller is earlier
  Token token = kNoToken;
};

// find(left, right) gives the Join of two neighbours, or nothing. What is left of `symbols` is the answer.
template <class Find>
void join_neighbours(std::vector<Symbol>& symbols, const Find& find) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Links {
    std::uint32_t previous, next;
  };
  struct Candidate {
    double order;
    std::uint32_t left, right, size;
    Token token;
    bool operator<(const Candidate& other) const {  // the queue gives the largest first
      return order > other.order || (order == other.order && left > other.left);
    }
  };
  const auto count = static_cast<std::uint32_t>(symbols.size());
  std::vector<Links> links(count);
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::uint32_t left, std::uint32_t right) {
    if (left == kNone || right == kNone) return;
    if (const std::optional<Join> join = find(symbols[left], symbols[right]))
      queue.push({join->order, left, right, symbols[left].size + symbols[right].size, join->token});
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    links[i] = {i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};
    if (i > 0) consider(i - 1, i);
  }
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.left];
    Symbol& right = symbols[best.right];
    // One of the two was joined to another since.
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    left.token = best.token;
    left.size = best.size;
    right.size = 0;
    links[best.left].next = links[best.right].next;
    if (links[best.left].next != kNone) links[links[best.left].next].previous = best.left;
    consider(links[best.left].previous, best.left);
    consider(best.left, links[best.left].next);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.size == 0; });
}

}  // namespace sharpmax::model
