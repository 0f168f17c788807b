// The tokenizer's entries of a GGUF file, as plain values.
#include "model/tokenizer/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/in_quotes.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::string_view kPrefix = "tokenizer.ggml.";

std::string key(std::string_view name) { return std::string(kPrefix) + std::string(name); }

std::vector<std::string> owned(const std::optional<std::vector<std::string_view>>& texts) {
  if (!texts) return {};
  return {texts->begin(), texts->end()};
}

// Older converters wrote scores as whole numbers.
std::vector<float> scores_of(const GgufFile& file) {
  const GgufEntry* entry = file.find(key("scores"));
  if (entry != nullptr && entry->value.type == GgufType::array && entry->value.element == GgufType::int32) {
    const auto whole = file.integers(key("scores"));
    return {whole->begin(), whole->end()};
  }
  return file.numbers(key("scores")).value_or(std::vector<float>());
}

}  // namespace

GgufVocabulary vocabulary_of(const GgufFile& file) {
  const auto model = file.text(key("model"));
  if (!model)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: has no {}, so no tokenizer", file.name(), key("model")));
  GgufVocabulary parts;
  parts.file = file.name();
  parts.model = *model;
  parts.pre = file.text(key("pre")).value_or("");
  parts.texts = owned(file.texts(key("tokens")));
  parts.types = file.integers(key("token_type")).value_or(std::vector<std::int64_t>());
  parts.scores = scores_of(file);
  parts.merges = owned(file.texts(key("merges")));
  parts.begin = file.integer(key("bos_token_id"));
  parts.end = file.integer(key("eos_token_id"));
  parts.end_of_turn = file.integer(key("eot_token_id"));
  parts.end_of_message = file.integer(key("eom_token_id"));
  parts.unknown = file.integer(key("unknown_token_id"));
  parts.add_begin = file.boolean(key("add_bos_token"));
  parts.add_end = file.boolean(key("add_eos_token"));
  parts.add_space_prefix = file.boolean(key("add_space_prefix"));
  return parts;
}

std::unique_ptr<const Tokenizer> make_gguf_tokenizer(GgufVocabulary parts) {
  if (parts.model == "gpt2") return make_byte_level_bpe(std::move(parts));
  if (parts.model == "llama") return make_sentencepiece_bpe(std::move(parts));
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: tokenizer {} is not supported; known are gpt2 and llama", parts.file,
                          in_quotes(parts.model)));
}

namespace {

// Texts that end a turn in the models at large. llama.cpp takes them for control tokens whatever the file
// says, and so do we: files exist that call <|im_end|> ordinary text.
constexpr std::array<std::string_view, 15> kTurnEnds = {"<|eot_id|>",
                                                        "<|im_end|>",
                                                        "<|end|>",
                                                        "<end_of_turn>",
                                                        "<|endoftext|>",
                                                        "</s>",
                                                        "<|eom_id|>",
                                                        "<EOT>",
                                                        "_<EOT>",
                                                        "[EOT]",
                                                        "[EOS]",
                                                        "<|end_of_text|>",
                                                        "<end_of_utterance>",
                                                        "<eos>",
                                                        "<｜end▁of▁sentence｜>"};

std::vector<std::string> checked_texts(GgufVocabulary& parts) {
  for (std::size_t i = 0; i < parts.texts.size(); ++i) {
    if (!is_utf8(parts.texts[i]))
      throw Error(ErrorCode::bad_file, fmt::format("{}: token {} is {}, which is not UTF-8", parts.file, i,
                                                   in_quotes(parts.texts[i])));
  }
  return std::move(parts.texts);
}

}  // namespace

GgufTokenizer::GgufTokenizer(GgufVocabulary& parts, const GgufDefaults& defaults)
    : vocabulary_(checked_texts(parts), parts.file), file_(parts.file) {
  read_types(parts.types);
  find_ends(parts, defaults);
  find_specials();
}

void GgufTokenizer::read_types(const std::vector<std::int64_t>& types) {
  const auto count = static_cast<std::size_t>(vocabulary_.size());
  if (!types.empty() && types.size() != count)
    throw Error(ErrorCode::bad_file, fmt::format("{}: {} token types for {} tokens; expected one for each",
                                                 file_, types.size(), count));
  types_.assign(count, TokenType::normal);
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] < 0 || types[i] > static_cast<std::int64_t>(TokenType::byte))
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: token {} has type {}; expected 0 to 6", file_, i, types[i]));
    types_[i] = static_cast<TokenType>(types[i]);
    const std::string_view text = vocabulary_.text(static_cast<Token>(i));
    if (types_[i] == TokenType::byte && !byte_named(text))
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: token {} has the type of a byte and the text {}; expected "
                              "one like <0x0A>",
                              file_, i, in_quotes(text)));
  }
}

void GgufTokenizer::find_ends(const GgufVocabulary& parts, const GgufDefaults& defaults) {
  const auto read = [&](std::optional<std::int64_t> given, std::optional<std::int64_t> otherwise,
                        std::string_view what) -> std::optional<Token> {
    if (given && (*given < 0 || *given >= size()))
      throw Error(ErrorCode::bad_file,
                  fmt::format("{}: the {} token is {}; there are {} tokens", file_, what, *given, size()));
    if (!given && otherwise && *otherwise < size()) given = otherwise;
    if (!given) return std::nullopt;
    return static_cast<Token>(*given);
  };
  ends_.begin = read(parts.begin, defaults.begin, "bos");
  ends_.end = read(parts.end, defaults.end, "eos");
  unknown_ = read(parts.unknown, defaults.unknown, "unknown");
  ends_.add_begin = parts.add_begin.value_or(defaults.add_begin) && ends_.begin.has_value();
  ends_.add_end = parts.add_end.value_or(false) && ends_.end.has_value();
  const auto stop_at = [&](std::optional<Token> token) {
    if (token && std::find(ends_.stops.begin(), ends_.stops.end(), *token) == ends_.stops.end())
      ends_.stops.push_back(*token);
  };
  stop_at(ends_.end);
  stop_at(read(parts.end_of_turn, std::nullopt, "end-of-turn"));
  stop_at(read(parts.end_of_message, std::nullopt, "end-of-message"));
  for (const std::string_view text : kTurnEnds) {
    if (const Token token = vocabulary_.find(text); token >= 0) {
      stop_at(token);
      types_[static_cast<std::size_t>(token)] = TokenType::control;
    }
  }
}

void GgufTokenizer::find_specials() {
  std::vector<SpecialToken> all, user;
  for (Token token = 0; token < size(); ++token) {
    const bool is_user = type(token) == TokenType::user_defined;
    const bool is_hidden = type(token) == TokenType::control || type(token) == TokenType::unknown;
    if ((!is_user && !is_hidden) || vocabulary_.text(token).empty()) continue;
    all.push_back({std::string(vocabulary_.text(token)), token});
    if (is_user) user.push_back(all.back());
  }
  all_specials_ = SpecialTexts(std::move(all));
  user_specials_ = SpecialTexts(std::move(user));
}

std::vector<Token> GgufTokenizer::encode(std::string_view text, SpecialText special) const {
  const SpecialTexts& specials = special == SpecialText::as_tokens ? all_specials_ : user_specials_;
  std::vector<Token> out;
  bool first = true;
  for (const Fragment& fragment : fragments_of(text, specials.longest_first(text), specials)) {
    if (fragment.is_token())
      out.push_back(fragment.token);
    else
      encode_stretch(fragment.text, first, out);
    first = fragment.is_token();
  }
  return out;
}

void GgufTokenizer::check(Token token) const {
  if (!vocabulary_.has(token))
    throw Error(ErrorCode::bad_argument, fmt::format("token {}; there are {} tokens", token, size()));
}

std::string_view GgufTokenizer::text_of(Token token) const {
  check(token);
  return vocabulary_.text(token);
}

std::optional<Token> GgufTokenizer::find(std::string_view vocabulary_text) const {
  const Token token = vocabulary_.find(vocabulary_text);
  return token < 0 ? std::nullopt : std::optional(token);
}

std::string GgufTokenizer::bytes_of(Token token) const {
  check(token);
  const std::string_view text = vocabulary_.text(token);
  switch (type(token)) {
    case TokenType::normal:
      return bytes_of_normal(text);
    case TokenType::user_defined:
      return std::string(text);
    case TokenType::byte:
      return std::string(1, static_cast<char>(*byte_named(text)));
    default:
      return {};
  }
}

std::string GgufTokenizer::decode(std::span<const Token> tokens) const {
  std::string out;
  for (const Token token : tokens) out += bytes_of(token);
  return out;
}

}  // namespace sharpmax::model
