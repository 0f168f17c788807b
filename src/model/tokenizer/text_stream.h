// Tokens, one at a time, to text that can be shown at once: a character whose bytes come in several tokens is
// kept back until it is whole.
#pragma once

#include <string>

#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

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
