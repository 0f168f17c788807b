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

}  // namespace sharpmax::model
