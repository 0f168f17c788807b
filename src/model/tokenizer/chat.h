// Chat templates. Files carry them as Jinja programs; we run none, but recognise those that write ChatML:
//
//   <|im_start|>system
//   You are ...<|im_end|>
//   <|im_start|>user
//   ...<|im_end|>
//   <|im_start|>assistant
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/file/model_file.h"

namespace sharpmax::model {

struct ChatTemplate {
  // What a conversation begins with when it brings no system message of its own.
  std::optional<std::string> default_system;

  // One message of the user, ready for the answer. To be encoded with SpecialText::as_tokens: a message that
  // holds "<|im_end|>" ends its turn there, as it does in the template.
  std::string render(std::string_view user, std::optional<std::string_view> system) const;
};

// Throws Error{unsupported} for a template that is not ChatML, or of which we cannot tell what it does.
ChatTemplate chat_template_of(std::string_view jinja);
// The template of a model: tokenizer.chat_template, or tokenizer_config.json and chat_template.jinja. Throws
// as above, and where there is none.
ChatTemplate chat_template_of(const ModelFile& file);

// What a Jinja template writes, in outline: texts in order, with a mark where a value or a tag stands. Enough
// to recognise a known shape; nothing is run.
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
