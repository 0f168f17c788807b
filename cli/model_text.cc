#include "cli/model_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/in_quotes.h"
#include "cli/console.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::cli {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3;

void check_utf8(std::string_view text, const std::string& name) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = model::character_length(text.substr(at));
    if (length == 0)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: byte {} (0x{:02x}) is no UTF-8; text in UTF-8 was wanted", name, at,
                              static_cast<unsigned char>(text[at])));
    at += length;
  }
}

}  // namespace

void add_text_options(CLI::App& words, TextOptions& o) {
  constexpr const char* kText = "Text";
  words.add_option("--text", o.text, "The text; -: standard input")->option_text("FILE")->group(kText);
  words.add_option("--tokens", o.tokens, "Read only so many of the text (default: all)")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{2}, std::int64_t{1} << 40))
      ->group(kText);
  words.add_flag("--special", o.special, "Read <|special|> words in the text as the tokens that they name")
      ->group(kText);
}

std::vector<model::Token> tokens_of(const model::Model& model, const TextOptions& o, std::int64_t least) {
  if (o.text.empty()) throw Error(ErrorCode::bad_argument, "no text was given; --text FILE was wanted");
  const bool piped = o.text == "-";
  const std::string text = piped ? standard_input() : read_text(o.text);
  check_utf8(text, piped ? "standard input" : o.text);
  const auto special = o.special ? model::SpecialText::as_tokens : model::SpecialText::as_text;
  std::vector<model::Token> tokens = model.tokenizer().encode(text, special);
  if (o.tokens) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(*o.tokens)));
  if (static_cast<std::int64_t>(tokens.size()) < least)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the text has {} tokens; at least {} were wanted", tokens.size(), least));
  return tokens;
}

std::int64_t tokens_before_text(const model::Model& model) {
  const auto& ends = model.tokenizer().ends();
  return ends.add_begin && ends.begin ? 1 : 0;
}

std::vector<model::Token> with_beginning(const model::Model& model, std::span<const model::Token> text) {
  std::vector<model::Token> all;
  if (tokens_before_text(model) > 0) all.push_back(*model.tokenizer().ends().begin);
  all.insert(all.end(), text.begin(), text.end());
  return all;
}

std::string token_text(const model::Model& model, model::Token token) {
  try {
    const std::string bytes = model.tokenizer().bytes_of(token);
    return bytes.empty() ? std::string(model.tokenizer().text_of(token)) : bytes;  // control tokens have none
  } catch (const Error&) {  // it has none, or one that we do not know
    return std::to_string(token);
  }
}

std::uint64_t fingerprint_of(std::span<const model::Token> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const model::Token token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * kPrime;
  return hash;
}

std::uint64_t fingerprint_with(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace sharpmax::cli
