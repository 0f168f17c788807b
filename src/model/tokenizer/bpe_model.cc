#include "model/tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/in_quotes.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
namespace {

constexpr std::size_t kMaxWord = (1U << 31) - 1;  // symbols count bytes in 32 bits

std::uint64_t key_of(Token left, Token right) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

BpeModel::BpeModel(const Vocabulary& vocabulary, const MergeList& merges, Repeated repeated,
                   const BpeRules& rules, std::string_view file)
    : vocabulary_(vocabulary), rules_(rules) {
  if (rules.byte_fallback) {
    for (int byte = 0; byte < 256; ++byte)
      bytes_.push_back(vocabulary.find(name_of_byte(static_cast<std::uint8_t>(byte))));
  }
  joins_.reserve(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto token_of = [&](const std::string& text) {
      const Token token = vocabulary.find(text);
      if (token == kNoToken)
        throw Error(
            ErrorCode::bad_file,
            fmt::format("{}: merge {} of {} and {} needs the token {}, which the "
                        "vocabulary does not have",
                        file, i, in_quotes(merges[i].first), in_quotes(merges[i].second), in_quotes(text)));
      return token;
    };
    const auto& [left, right] = merges[i];
    const std::uint64_t key = key_of(token_of(left), token_of(right));
    const Join join{static_cast<double>(i), token_of(left + right)};
    if (repeated == Repeated::first_counts)
      joins_.emplace(key, join);
    else
      joins_.insert_or_assign(key, join);
  }
}

// The character as its bytes' own tokens, if it has them all.
bool BpeModel::add_bytes(std::string_view character, std::uint32_t begin,
                         std::vector<Symbol>& symbols) const {
  if (!rules_.byte_fallback) return false;
  const auto token_of = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
  if (std::any_of(character.begin(), character.end(), [&](char c) { return token_of(c) == kNoToken; }))
    return false;
  for (const char c : character) symbols.push_back({token_of(c), begin++, 1});
  return true;
}

std::vector<Symbol> BpeModel::symbols_of(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  Symbol unknown;  // waits, so that a run of them may become one
  const auto flush = [&] {
    if (unknown.size > 0) symbols.push_back(unknown);
    unknown = {};
  };
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t bytes = std::max<std::size_t>(1, character_length(word.substr(i)));
    const std::string_view character = word.substr(i, bytes);
    const auto begin = static_cast<std::uint32_t>(i), size = static_cast<std::uint32_t>(bytes);
    i += bytes;
    const Token token = vocabulary_.find(character);
    if (token != kNoToken || rules_.unknown == BpeRules::Unknown::stays) {
      flush();
      symbols.push_back({token, begin, size});
    } else if (!add_bytes(character, begin, symbols) && rules_.unknown_token != kNoToken) {
      // Bytes go before an unknown that waits: so it is in `tokenizers`.
      if (unknown.size > 0 && rules_.fuse_unknown) {
        unknown.size += size;
      } else {
        flush();
        unknown = {rules_.unknown_token, begin, size};
      }
    }
  }
  flush();
  return symbols;
}

void BpeModel::encode_word(std::string_view word, std::vector<Token>& out) const {
  if (word.size() > kMaxWord)
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer: a word of {} bytes; at most {}", word.size(), kMaxWord));
  if (rules_.whole_words_first) {
    if (const Token whole = vocabulary_.find(word); whole != kNoToken) {
      out.push_back(whole);
      return;
    }
  }
  std::vector<Symbol> symbols = symbols_of(word);
  join_neighbours(symbols, [&](const Symbol& left, const Symbol& right) -> std::optional<Join> {
    if (left.token == kNoToken || right.token == kNoToken) return std::nullopt;
    const auto found = joins_.find(key_of(left.token, right.token));
    return found == joins_.end() ? std::nullopt : std::optional(found->second);
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.token != kNoToken) out.push_back(symbol.token);
  }
}

void WordCache::encode_word(std::string_view word, std::vector<Token>& out) {
  constexpr std::size_t kLongest = 64, kMost = 1U << 16;  // bytes of a word, words
  if (word.size() > kLongest) return model_.encode_word(word, out);
  auto found = words_.find(std::string(word));
  if (found == words_.end()) {
    if (words_.size() >= kMost) return model_.encode_word(word, out);
    found = words_.emplace(word, std::vector<Token>()).first;
    model_.encode_word(word, found->second);
  }
  out.insert(out.end(), found->second.begin(), found->second.end());
}

// BPE as SentencePiece trains it and GGUF files store it: no words, a score for every token, spaces spelt
// "▁", and a token for every byte where no other fits. Token for token what llama.cpp gives; like it we do
// nothing with remove_extra_whitespaces.

namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581

// By the first byte alone, so that broken UTF-8 falls apart as it does in llama.cpp.
std::size_t announced_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  out.reserve(text.size() * 2);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t found = std::min(text.find(from, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size()) out += to;
    at = found + from.size();
  }
  return out;
}

class SentencePieceBpe final : public GgufTokenizer {
 public:
  explicit SentencePieceBpe(GgufVocabulary& parts)
      : GgufTokenizer(parts, {.begin = 1, .end = 2, .unknown = 0, .add_begin = true}),
        scores_(checked_scores(parts)),
        add_space_prefix_(parts.add_space_prefix.value_or(true)) {
    for (int byte = 0; byte < 256; ++byte) {
      const char alone[] = {static_cast<char>(static_cast<unsigned char>(byte))};
      Token token = vocabulary_.find(name_of_byte(static_cast<std::uint8_t>(byte)));
      if (token == kNoToken) token = vocabulary_.find(std::string_view(alone, 1));
      if (token == kNoToken) token = unknown_.value_or(kNoToken);
      bytes_[static_cast<std::size_t>(byte)] = token;
    }
  }

  std::string description() const override {
    return fmt::format("SentencePiece BPE, {} tokens{}", size(),
                       add_space_prefix_ ? ", a space before the first word" : "");
  }

  std::string decode(std::span<const Token> tokens) const override {
    std::string out = GgufTokenizer::decode(tokens);
    if (add_space_prefix_ && out.starts_with(' ')) out.erase(0, 1);
    return out;
  }

 protected:
  void encode_stretch(std::string_view text, bool first, std::vector<Token>& out) const override;
  std::string bytes_of_normal(std::string_view text) const override { return replaced(text, kSpace, " "); }

 private:
  std::vector<float> checked_scores(GgufVocabulary& parts) const {
    const auto count = static_cast<std::size_t>(size());
    if (parts.scores.size() != count)
      throw Error(ErrorCode::bad_file, fmt::format("{}: {} scores for {} tokens; expected one for each",
                                                   parts.file, parts.scores.size(), count));
    const auto bad =
        std::find_if(parts.scores.begin(), parts.scores.end(), [](float s) { return std::isnan(s); });
    if (bad != parts.scores.end())
      throw Error(ErrorCode::bad_file, fmt::format("{}: the score of token {} is not a number", parts.file,
                                                   bad - parts.scores.begin()));
    return std::move(parts.scores);
  }

  std::vector<float> scores_;
  std::array<Token, 256> bytes_{};
  bool add_space_prefix_;
};

void SentencePieceBpe::encode_stretch(std::string_view text, bool first, std::vector<Token>& out) const {
  std::string spelt = replaced(text, " ", kSpace);
  if (first && add_space_prefix_) spelt.insert(0, kSpace);
  constexpr std::size_t kMost = (1U << 31) - 1;  // symbols count bytes in 32 bits
  if (spelt.size() > kMost)
    throw Error(ErrorCode::unsupported,
                fmt::format("tokenizer: a text of {} bytes; at most {}", spelt.size(), kMost));
  const std::string_view word = spelt;
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t bytes = std::min(announced_length(word[i]), word.size() - i);
    symbols.push_back({vocabulary_.find(word.substr(i, bytes)), static_cast<std::uint32_t>(i),
                       static_cast<std::uint32_t>(bytes)});
    i += bytes;
  }
  join_neighbours(symbols, [&](const Symbol& left, const Symbol& right) -> std::optional<Join> {
    const std::size_t bytes = left.size + right.size;
    if (bytes > vocabulary_.longest()) return std::nullopt;
    const Token token = vocabulary_.find(word.substr(left.begin, bytes));
    if (token == kNoToken) return std::nullopt;
    return Join{-static_cast<double>(scores_[static_cast<std::size_t>(token)]), token};
  });
  for (const Symbol& symbol : symbols) {
    if (symbol.token != kNoToken) {
      out.push_back(symbol.token);
      continue;
    }
    for (const char c : word.substr(symbol.begin, symbol.size)) {
      const Token byte = bytes_[static_cast<unsigned char>(c)];
      if (byte != kNoToken) out.push_back(byte);
    }
  }
}

}  // namespace

std::unique_ptr<const Tokenizer> make_sentencepiece_bpe(GgufVocabulary parts) {
  return std::make_unique<SentencePieceBpe>(parts);
}

}  // namespace sharpmax::model
