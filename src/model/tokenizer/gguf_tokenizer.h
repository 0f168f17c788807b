// What the tokenizers of GGUF files have in common, and the plain values they are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/file/gguf.h"
#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

// The entries tokenizer.ggml.* as they stand in the file; nothing is checked yet.
struct GgufVocabulary {
  std::string file;   // opens every message
  std::string model;  // "gpt2", "llama"
  std::string pre;    // pre-tokenizer; empty where the file names none
  std::vector<std::string> texts;
  std::vector<std::int64_t> types;  // one for each text, or none at all
  std::vector<float> scores;        // likewise
  std::vector<std::string> merges;  // "left right"
  std::optional<std::int64_t> begin, end, end_of_turn, end_of_message, unknown;
  std::optional<bool> add_begin, add_end, add_space_prefix;
};

GgufVocabulary vocabulary_of(const GgufFile& file);
// Throws Error{bad_file} for a broken vocabulary, {unsupported} for a kind that we do not know.
std::unique_ptr<const Tokenizer> make_gguf_tokenizer(GgufVocabulary parts);
std::unique_ptr<const Tokenizer> make_byte_level_bpe(GgufVocabulary parts);     // "gpt2"
std::unique_ptr<const Tokenizer> make_sentencepiece_bpe(GgufVocabulary parts);  // "llama"

// What a kind does where the file says nothing.
struct GgufDefaults {
  std::optional<std::int64_t> begin, end, unknown;
  bool add_begin = false;
};

class GgufTokenizer : public Tokenizer {
 public:
  std::vector<Token> encode(std::string_view text, SpecialText special) const override;
  std::string bytes_of(Token token) const override;
  std::int64_t size() const noexcept override { return vocabulary_.size(); }
  std::string_view text_of(Token token) const override;
  std::optional<Token> find(std::string_view vocabulary_text) const override;
  std::string decode(std::span<const Token> tokens) const override;

 protected:
  GgufTokenizer(GgufVocabulary& parts, const GgufDefaults& defaults);  // takes the texts

  // One stretch without special texts; `first` if nothing or a special token stands before it.
  virtual void encode_stretch(std::string_view text, bool first, std::vector<Token>& out) const = 0;
  virtual std::string bytes_of_normal(std::string_view text) const = 0;

  TokenType type(Token token) const noexcept { return types_[static_cast<std::size_t>(token)]; }

  const Vocabulary vocabulary_;
  const std::string file_;
  std::optional<Token> unknown_;

 private:
  void check(Token token) const;
  void read_types(const std::vector<std::int64_t>& types);
  void find_specials();
  void find_ends(const GgufVocabulary& parts, const GgufDefaults& defaults);

  std::vector<TokenType> types_;
  SpecialTexts all_specials_, user_specials_;
};

}  // namespace sharpmax::model
