// Words to tokens by ranked merges: what byte-level BPE in GGUF files and the BPE of tokenizer.json share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

// The heart of every BPE: neighbours are joined, the best pair first, until none is left to join.
//
// A priority queue makes a word of n symbols cost n log n, so a megabyte without a space is a word like any
// other. Equal pairs are joined from left to right.

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

// find(left, right) gives the Join of two neighbours, or nothing. The symbols that remain are the answer.
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

struct BpeRules {
  // Treatment of a character that is not a token.
  enum class Unknown {
    stays,    // llama.cpp: nothing joins across it, then it is left out
    dropped,  // Hugging Face: its neighbours meet
  };
  Unknown unknown = Unknown::stays;
  Token unknown_token = kNoToken;  // Hugging Face: stands for characters that are left out
  bool fuse_unknown = false;       // one for a run
  bool byte_fallback = false;      // "<0x0A>" before the unknown token
  bool whole_words_first = false;  // a word that is a token is that token, whatever the merges say
};

// A merge says: left and right make the token of their joined text.
using MergeList = std::vector<std::pair<std::string, std::string>>;

enum class Repeated {
  first_counts,
  last_counts
};  // of a merge that is listed twice: llama.cpp, Hugging Face

class BpeModel {
 public:
  // `vocabulary` must outlive it. Throws Error{bad_file} if a merge names an unknown token.
  BpeModel(const Vocabulary& vocabulary, const MergeList& merges, Repeated repeated, const BpeRules& rules,
           std::string_view file);

  void encode_word(std::string_view word, std::vector<Token>& out) const;

 private:
  std::vector<Symbol> symbols_of(std::string_view word) const;
  bool add_bytes(std::string_view character, std::uint32_t begin, std::vector<Symbol>& symbols) const;

  const Vocabulary& vocabulary_;
  BpeRules rules_;
  std::vector<Token> bytes_;                       // tokens of "<0x00>" .. "<0xFF>"
  std::unordered_map<std::uint64_t, Join> joins_;  // by left and right
};

// Words seen in one text: most of a text is words that were there before.
class WordCache {
 public:
  explicit WordCache(const BpeModel& model) : model_(model) {}
  void encode_word(std::string_view word, std::vector<Token>& out);

 private:
  const BpeModel& model_;
  std::unordered_map<std::string, std::vector<Token>> words_;
};

}  // namespace sharpmax::model
