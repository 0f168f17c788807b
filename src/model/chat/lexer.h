// A chat template cut into text and tags, and the tags into words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::model::chat {

struct Lexeme {
  enum class Kind { data, variable_begin, variable_end, block_begin, block_end, name, text, integer, real, sign, end };
  Kind kind = Kind::end;
  std::string content;  // escapes of a text are undone
  std::int64_t line = 1;

  bool is(std::string_view sign) const { return kind == Kind::sign && content == sign; }
  bool is_name(std::string_view name) const { return kind == Kind::name && content == name; }
};

// Error{unsupported}: "chat template, line 3: ..." 
[[noreturn]] void refuse(std::int64_t line, std::string_view why);

// As Hugging Face sets Jinja up: the line end after a tag and blanks before one at the start of a line are dropped. Ends in a
// lexeme of kind `end`. Throws Error{unsupported} for a tag, a comment or a text without an end.
std::vector<Lexeme> lexemes_of(std::string_view source);

}  // namespace sharpmax::model::chat
