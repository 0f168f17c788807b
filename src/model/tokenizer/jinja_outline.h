// What a Jinja template writes, in outline: texts in order, with a mark where a value or a tag stands. Enough
// to recognise a known shape; nothing is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sharpmax::model {

struct OutlinePart {
  enum class Kind { text, value, tag };
  Kind kind = Kind::text;
  std::string content;  // the text; the expression or the tag without spaces, quotes made equal

  bool operator==(const OutlinePart&) const = default;
};

// Texts of neighbouring literals and of the template itself are joined; as Hugging Face runs templates, the
// line end after a tag and the blanks before one are dropped. Throws Error{unsupported} for what is not
// closed.
std::vector<OutlinePart> outline_of_jinja(std::string_view source);

}  // namespace sharpmax::model
