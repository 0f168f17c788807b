#include "model/job/text_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/in_quotes.h"
#include "model/tokenizer/utf8.h"
#include "storage/files.h"

namespace sharpmax::model {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3;

void check_utf8(std::string_view text, const std::string& name) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0)
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: byte {} (0x{:02x}) is not UTF-8; the text must be in UTF-8", name, at,
                              static_cast<unsigned char>(text[at])));
    at += length;
  }
}

}  // namespace

std::vector<Token> tokens_of(const Model& model, const TextRequest& request, std::int64_t least) {
  if (request.text.empty() && !request.text_string)
    throw RequestError(ErrorCode::bad_argument, fmt::format("no text was given; {} must name one", given("text", "FILE")));
  if (request.text_string && text_name(request) != "-")
    throw RequestError(ErrorCode::bad_argument,
                       fmt::format("{} and {} were both given; give one of them", named("text"), named("text_string")));
  const std::string text = request.text_string ? *request.text_string : read_text(request.text);
  check_utf8(text, request.text_string ? "the text" : request.text);
  const auto special = request.special ? SpecialText::as_tokens : SpecialText::as_text;
  std::vector<Token> tokens = model.tokenizer().encode(text, special);
  if (request.tokens) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(*request.tokens)));
  if (static_cast<std::int64_t>(tokens.size()) < least)
    throw Error(ErrorCode::bad_argument,
                fmt::format("the text has {} tokens; it must have at least {}", tokens.size(), least));
  return tokens;
}

std::string text_name(const TextRequest& request) {
  return request.text.empty() && request.text_string ? "-" : request.text;
}

std::int64_t tokens_before_text(const Model& model) {
  const auto& ends = model.tokenizer().ends();
  return ends.add_begin && ends.begin ? 1 : 0;
}

std::vector<Token> with_beginning(const Model& model, std::span<const Token> text) {
  std::vector<Token> all;
  if (tokens_before_text(model) > 0) all.push_back(*model.tokenizer().ends().begin);
  all.insert(all.end(), text.begin(), text.end());
  return all;
}

std::string token_text(const Model& model, Token token) {
  try {
    const std::string bytes = model.tokenizer().bytes_of(token);
    return bytes.empty() ? std::string(model.tokenizer().text_of(token)) : bytes;  // control tokens have none
  } catch (const Error&) {  // it has none, or one that we do not know
    return std::to_string(token);
  }
}

std::uint64_t fingerprint_of(std::span<const Token> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const Token token : tokens) hash = (hash ^ static_cast<std::uint32_t>(token)) * kPrime;
  return hash;
}

std::uint64_t fingerprint_with(std::uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace sharpmax::model
