// Regular expressions of pre-tokenizers, as the models' files have them, on PCRE2.
//
// Tokenizers are defined by the dialect of Oniguruma (Hugging Face) and of llama.cpp; where PCRE2 means
// something else by the same words, the expression is translated; what has no translation is
// Error{unsupported}. A vocabulary file may hold any expression, so verbs, callouts, recursion and names are
// not let through, and a match that takes too many steps is an Error instead of an hour.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::model {

// A piece of a text, and whether the expression matched it.
struct Piece {
  std::string_view text;
  bool matched = false;
};

// The expression in PCRE2's words. Throws Error{unsupported}.
std::string in_pcre2(std::string_view expression);

class Pattern {
 public:
  explicit Pattern(std::string_view expression);
  static Pattern literal(std::string_view text);  // matches that text

  // Cuts `text` (well-formed UTF-8) into matches and the text between them, in order, nothing left out.
  std::vector<Piece> cut(std::string_view text) const;

 private:
  struct Code;
  explicit Pattern(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace sharpmax::model
