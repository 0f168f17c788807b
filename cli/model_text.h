// The text that a model reads in `perplexity`, `audit` and `fix`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "model/transformer/model.h"

namespace sharpmax::cli {

struct TextOptions {
  std::string text;  // a file; -: standard input
  std::optional<std::int64_t> tokens;
  bool special = false;
};
void add_text_options(CLI::App& words, TextOptions& options);

// Error{bad_argument} for no text and one of fewer than `least` tokens; Error{bad_file} for bytes that are
// not UTF-8.
std::vector<model::Token> tokens_of(const model::Model& model, const TextOptions& options,
                                    std::int64_t least);

// With the token before it that the model expects before a text.
std::vector<model::Token> with_beginning(const model::Model& model, std::span<const model::Token> text);
std::int64_t tokens_before_text(const model::Model& model);

// What a token stands for in a text; its number where the model has no tokenizer.
std::string token_text(const model::Model& model, model::Token token);

// FNV-1a, to tell whether a resumed run reads the same: of tokens, and of any text on top.
std::uint64_t fingerprint_of(std::span<const model::Token> tokens);
std::uint64_t fingerprint_with(std::uint64_t fingerprint, std::string_view text);

}  // namespace sharpmax::cli
