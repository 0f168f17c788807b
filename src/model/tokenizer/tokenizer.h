// Text to tokens and back, exactly as the model file's own tokenizer has it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/file/model_file.h"

namespace sharpmax::model {

using Token = std::int32_t;

// Whether the text "<|im_end|>" is that token, or ten characters that a person typed.
enum class SpecialText { as_text, as_tokens };

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Any bytes are text, invalid UTF-8 included. Adds no token of its own at either end.
  virtual std::vector<Token> encode(std::string_view text, SpecialText special) const = 0;
  // The bytes that a token stands for within a text; a control token stands for none.
  virtual std::string bytes_of(Token token) const = 0;

  virtual std::int64_t size() const noexcept = 0;  // tokens are 0 .. size - 1
  virtual std::string_view text_of(
      Token token) const = 0;  // as the vocabulary spells it: "Ġthe", "<|im_end|>"
  virtual std::optional<Token> find(std::string_view vocabulary_text) const = 0;
  virtual std::string description() const = 0;  // "byte-level BPE, pre-tokenizer smollm, 49152 tokens"

  // What the model expects around a text.
  struct Ends {
    std::optional<Token> begin, end;  // bos, eos
    bool add_begin = false, add_end = false;
    std::vector<Token> stops;  // tokens after which generation is over: eos, end of turn
  };
  const Ends& ends() const noexcept { return ends_; }

  // As a model is to see a whole text: with the tokens that belong at its ends.
  std::vector<Token> encode_whole(std::string_view text, SpecialText special) const;
  // Back to text; a space that the tokenizer puts before the first word is left out.
  virtual std::string decode(std::span<const Token> tokens) const = 0;

 protected:
  Ends ends_;
};

// Throws Error{bad_file} for a broken vocabulary, {unsupported} for a kind that we do not know.
std::unique_ptr<const Tokenizer> make_tokenizer(const ModelFile& file);

// Tokens, one at a time, to text that can be shown immediately: a character whose bytes come in several tokens is
// kept back until it is whole.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The bytes that are ready. Bytes that can never become a character come as they are: what is put out is,
  // joined, exactly what the tokens stand for.
  std::string push(Token token);
  // The bytes that remain at the end, whole or not.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  std::string waiting_;
};

// Tokens by number and by text.

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

// "<0x0A>" is 10; nothing if the text is not of that form. Digits may be of either case.
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

// Text and matches, in order, without empty ones.
std::vector<Fragment> fragments_of(std::string_view text, std::span<const SpecialTexts::Match> matches,
                                   const SpecialTexts& specials);

}  // namespace sharpmax::model
