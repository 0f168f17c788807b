// A TextRequest carried out: the tokens of a text, and what tells one text from another.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/transformer/model.h"
#include "sharpmax/model.h"

namespace sharpmax::model {

// Throws Error{bad_argument} for no text and one of fewer than `least` tokens; Error{bad_file} for bytes that are not UTF-8.
std::vector<Token> tokens_of(const Model& model, const TextRequest& request, std::int64_t least);

// What results call the text: its path, or "-" for one in memory, as a command that reads standard input has it.
std::string text_name(const TextRequest& request);

// With the token before it that the model expects before a text.
std::vector<Token> with_beginning(const Model& model, std::span<const Token> text);
std::int64_t tokens_before_text(const Model& model);

// What a token stands for in a text; its number if the model has no tokenizer.
std::string token_text(const Model& model, Token token);

// FNV-1a, to tell whether a resumed job reads the same: of tokens, and of any text on top.
std::uint64_t fingerprint_of(std::span<const Token> tokens);
std::uint64_t fingerprint_with(std::uint64_t fingerprint, std::string_view text);

}  // namespace sharpmax::model
