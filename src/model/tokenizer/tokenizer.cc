#include "model/tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/in_quotes.h"
#include "model/tokenizer/gguf_tokenizer.h"
#include "model/tokenizer/json_tokenizer.h"
#include "model/tokenizer/utf8.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

std::vector<Token> Tokenizer::encode_whole(std::string_view text, SpecialText special) const {
  std::vector<Token> tokens;
  if (ends_.add_begin && ends_.begin) tokens.push_back(*ends_.begin);
  const std::vector<Token> inner = encode(text, special);
  tokens.insert(tokens.end(), inner.begin(), inner.end());
  if (ends_.add_end && ends_.end) tokens.push_back(*ends_.end);
  return tokens;
}

std::unique_ptr<const Tokenizer> make_tokenizer(const ModelFile& file) {
  if (const auto* gguf = std::get_if<GgufFile>(&file)) return make_gguf_tokenizer(vocabulary_of(*gguf));
  const auto& folder = std::get<SafetensorsFolder>(file);
  return make_json_tokenizer(folder.folder(), folder.configuration());
}

std::string TextStream::push(Token token) {
  waiting_ += tokenizer_.bytes_of(token);
  std::string ready = waiting_.substr(0, waiting_.size() - unfinished_bytes(waiting_));
  waiting_.erase(0, ready.size());
  return ready;
}

std::string TextStream::flush() { return std::exchange(waiting_, {}); }

Vocabulary::Vocabulary(std::vector<std::string> texts, std::string_view file) : texts_(std::move(texts)) {
  constexpr std::size_t kMost = 1U << 24;  // the largest vocabularies have 2^18
  if (texts_.empty() || texts_.size() > kMost)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: the vocabulary has {} tokens; expected 1 to {}", file, texts_.size(), kMost));
  tokens_.reserve(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].empty()) continue;
    const auto [other, added] = tokens_.emplace(texts_[i], static_cast<Token>(i));
    if (!added)
      throw Error(ErrorCode::bad_file, fmt::format("{}: tokens {} and {} are both {}; texts must differ",
                                                   file, other->second, i, in_quotes(texts_[i])));
    longest_ = std::max(longest_, texts_[i].size());
  }
}

std::optional<std::uint8_t> byte_named(std::string_view text) noexcept {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  std::uint8_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error != std::errc() || end != text.data() + 5) return std::nullopt;
  return value;
}

std::string name_of_byte(std::uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

SpecialTexts::SpecialTexts(std::vector<SpecialToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].text.empty()) continue;
    begins_[static_cast<unsigned char>(tokens_[i].text[0])] = true;
    std::uint32_t at = 0;
    for (const char c : tokens_[i].text) {
      const auto next = static_cast<std::uint32_t>(nodes_.size());
      const auto [child, added] = nodes_[at].children.emplace(c, next);
      at = child->second;
      if (added) nodes_.emplace_back();
    }
    nodes_[at].token = static_cast<std::int64_t>(i);
  }
}

// visit(index, end) for every token that begins here, the shortest first.
template <class Visit>
void SpecialTexts::for_each_at(std::string_view text, std::size_t begin, const Visit& visit) const {
  if (!begins_[static_cast<unsigned char>(text[begin])]) return;
  std::uint32_t at = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const auto child = nodes_[at].children.find(text[i]);
    if (child == nodes_[at].children.end()) return;
    at = child->second;
    if (nodes_[at].token >= 0) visit(static_cast<std::size_t>(nodes_[at].token), i + 1);
  }
}

std::vector<SpecialTexts::Match> SpecialTexts::leftmost_longest(std::string_view text) const {
  std::vector<Match> matches;
  for (std::size_t i = 0; i < text.size();) {
    Match longest{i, i, 0};
    for_each_at(text, i, [&](std::size_t index, std::size_t end) { longest = {i, end, index}; });
    if (longest.end > i) matches.push_back(longest);
    i = std::max(longest.end, i + 1);
  }
  return matches;
}

std::vector<SpecialTexts::Match> SpecialTexts::longest_first(std::string_view text) const {
  // A match counts where no byte of it is taken by one before it in the order.
  std::vector<Match> found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for_each_at(text, i, [&](std::size_t index, std::size_t end) { found.push_back({i, end, index}); });
  }
  std::stable_sort(found.begin(), found.end(), [&](const Match& a, const Match& b) {
    const std::size_t a_size = a.end - a.begin, b_size = b.end - b.begin;
    return a_size != b_size ? a_size > b_size : tokens_[a.index].token < tokens_[b.index].token;
  });
  std::map<std::size_t, Match> taken;  // by begin
  for (const Match& match : found) {
    const auto after = taken.lower_bound(match.begin);
    if (after != taken.end() && after->first < match.end) continue;
    if (after != taken.begin() && std::prev(after)->second.end > match.begin) continue;
    taken.emplace(match.begin, match);
  }
  std::vector<Match> matches;
  matches.reserve(taken.size());
  for (const auto& [begin, match] : taken) matches.push_back(match);
  return matches;
}

std::vector<Fragment> fragments_of(std::string_view text, std::span<const SpecialTexts::Match> matches,
                                   const SpecialTexts& specials) {
  std::vector<Fragment> fragments;
  std::size_t done = 0;
  for (const SpecialTexts::Match& match : matches) {
    if (match.begin > done) fragments.push_back({text.substr(done, match.begin - done)});
    fragments.push_back(
        {text.substr(match.begin, match.end - match.begin), specials.tokens()[match.index].token});
    done = match.end;
  }
  if (done < text.size()) fragments.push_back({text.substr(done)});
  return fragments;
}

}  // namespace sharpmax::model
