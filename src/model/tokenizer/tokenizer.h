// Text to tokens and back, exactly as the model file's own tokenizer has it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// Tokens, one at a time, to text that can be shown at once: a character whose bytes come in several tokens is
// kept back until it is whole.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // The bytes that are ready. Bytes that can never become a character come as they are: what is put out is,
  // joined, exactly what the tokens stand for.
  std::string push(Token token);
  // What is left at the end, whole or not.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  std::string waiting_;
};

}  // namespace sharpmax::model
