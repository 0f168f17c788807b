// Tokens by number and by text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

enum class TokenType : std::int32_t {  // as GGUF numbers them
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

// Two tokens of one text would make encoding a matter of chance: Error{bad_file}. Tokens without a text are
// there, but cannot be found.
class Vocabulary {
 public:
  Vocabulary(std::vector<std::string> texts, std::string_view file);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(texts_.size()); }
  bool has(Token token) const noexcept { return token >= 0 && token < size(); }
  std::string_view text(Token token) const noexcept { return texts_[static_cast<std::size_t>(token)]; }
  Token find(std::string_view text) const noexcept {  // kNoToken: there is none
    const auto found = tokens_.find(text);
    return found == tokens_.end() ? -1 : found->second;
  }
  std::size_t longest() const noexcept { return longest_; }  // bytes of the longest text

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, Token> tokens_;
  std::size_t longest_ = 0;
};

// "<0x0A>" is 10; nothing where the text is not of that form. Digits may be of either case.
std::optional<std::uint8_t> byte_named(std::string_view text) noexcept;
std::string name_of_byte(std::uint8_t byte);  // "<0x0A>"

// Texts that are found before anything else is done with a text: "<|im_end|>", runs of spaces, user tokens.
struct SpecialToken {
  std::string text;
  Token token = 0;
};

// A stretch of text, or a token that stood there.
struct Fragment {
  std::string_view text;
  Token token = -1;
  bool is_token() const noexcept { return token >= 0; }
};

class SpecialTexts {
 public:
  SpecialTexts() : nodes_(1) {}
  explicit SpecialTexts(std::vector<SpecialToken> tokens);

  struct Match {
    std::size_t begin = 0, end = 0;
    std::size_t index = 0;  // in tokens()
  };
  // Hugging Face: from left to right, the longest that begins where the last ended or later.
  std::vector<Match> leftmost_longest(std::string_view text) const;
  // llama.cpp: the longest token first wherever it is, then the next; equally long by number.
  std::vector<Match> longest_first(std::string_view text) const;
  const std::vector<SpecialToken>& tokens() const noexcept { return tokens_; }

 private:
  struct Node {
    std::unordered_map<char, std::uint32_t> children;
    std::int64_t token = -1;  // index in tokens_
  };
  template <class Visit>
  void for_each_at(std::string_view text, std::size_t begin, const Visit& visit) const;

  std::vector<SpecialToken> tokens_;
  std::vector<Node> nodes_;  // a trie; 0 is its root
  bool begins_[256] = {};    // first bytes, to pass over ordinary text quickly
};

// Text and matches, in order, without what is empty.
std::vector<Fragment> fragments_of(std::string_view text, std::span<const SpecialTexts::Match> matches,
                                   const SpecialTexts& specials);

}  // namespace sharpmax::model
