// Chat templates: a conversation as the text that a model was trained on.
//
// Model files carry templates as programs in Jinja. A part of Jinja runs here, in C++: blocks if, for, set, macro and
// generation, and the expressions, filters, tests and methods of evaluation.h's neighbors. A template that needs more is
// Error{unsupported}, which names the construct. Every run has limits, so no template hangs or takes all memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/chat/evaluation.h"
#include "model/file/model_file.h"
#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

// Texts that templates call bos_token and eos_token.
struct ChatTokens {
  std::optional<std::string> begin, end;
};

struct ChatMessage {
  std::string role, content;
};

class ChatTemplate {
 public:
  // Throws Error{unsupported} for a template that is not Jinja, or needs a construct that is not known here.
  explicit ChatTemplate(std::string_view jinja, ChatTokens tokens = {});

  // One message of the user, ready for the answer. To be encoded with SpecialText::as_tokens: a message that holds
  // "<|im_end|>" ends its turn there, as it does in the template. Throws as above, and if the template refuses the messages.
  std::string render(std::string_view user, std::optional<std::string_view> system) const;
  // Any messages. now: what strftime_now() writes, in seconds since 1970.
  std::string render(const std::vector<ChatMessage>& messages, std::int64_t now, const chat::Limits& limits = {}) const;

 private:
  std::shared_ptr<const std::vector<chat::Statement>> program_;
  ChatTokens tokens_;
};

// The template of a model: tokenizer.chat_template, or tokenizer_config.json and chat_template.jinja. Throws as above, and if
// there is none.
ChatTemplate chat_template_of(const ModelFile& file, const Tokenizer& tokenizer);

}  // namespace sharpmax::model
