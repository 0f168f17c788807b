// The pre-tokenizers that GGUF files name: expressions that cut a text into words, one after the other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer/pattern.h"

namespace sharpmax::model {

struct PreTokenizer {
  std::vector<Pattern> patterns;
  bool whole_words_first = false;  // words that are tokens are not put together by merges
  bool add_begin = false;          // where the file does not say
};

// Throws Error{unsupported} for a name we do not know, and says which we do. The empty name is "default".
PreTokenizer pre_tokenizer_named(std::string_view name, std::string_view file);

std::vector<std::string_view> cut_into_words(std::string_view text, const std::vector<Pattern>& patterns);

}  // namespace sharpmax::model
