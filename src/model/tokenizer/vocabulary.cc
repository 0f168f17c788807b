#include "model/tokenizer/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/in_quotes.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

Vocabulary::Vocabulary(std::vector<std::string> texts, std::string_view file) : texts_(std::move(texts)) {
  constexpr std::size_t kMost = 1U << 24;  // the largest vocabularies have 2^18
  if (texts_.empty() || texts_.size() > kMost)
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: the vocabulary has {} tokens; wanted 1 to {}", file, texts_.size(), kMost));
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

}  // namespace sharpmax::model
