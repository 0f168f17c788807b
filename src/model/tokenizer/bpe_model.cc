#include "model/tokenizer/bpe_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/in_quotes.h"
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

// The character as its bytes' own tokens, where it has them all.
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

}  // namespace sharpmax::model
