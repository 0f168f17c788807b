// Words to tokens by ranked merges: what byte-level BPE in GGUF files and the BPE of tokenizer.json share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/tokenizer/merge.h"
#include "model/tokenizer/vocabulary.h"

namespace sharpmax::model {

struct BpeRules {
  // What happens to a character that is no token.
  enum class Unknown {
    stays,    // llama.cpp: nothing joins across it, then it is left out
    dropped,  // Hugging Face: its neighbours meet
  };
  Unknown unknown = Unknown::stays;
  Token unknown_token = kNoToken;  // Hugging Face: stands for what is left out
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
  // `vocabulary` must outlive it. Throws Error{bad_file} where a merge names what is no token.
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
