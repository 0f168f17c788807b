// BPE as SentencePiece trains it and GGUF files store it: no words, a score for every token, spaces spelt
// "▁", and a token for every byte where no other fits. Token for token what llama.cpp gives; like it we do
// nothing with remove_extra_whitespaces.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "model/tokenizer/bpe_model.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "sharpmax/error.h"

namespace sharpmax::model {
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
