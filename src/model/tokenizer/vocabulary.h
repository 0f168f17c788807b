// Tokens by number and by text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace sharpmax::model {

enum class TokenType : std::int32_t {  // as GGUF numbers them
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

// Two tokens of one text would make encoding a matter of chance: Error{bad_file}. Tokens without a text are
// there, but cannot be found.
class Vocabulary {
 public:
  Vocabulary(std::vector<std::string> texts, std::string_view file);

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(texts_.size()); }
  bool has(Token token) const noexcept { return token >= 0 && token < size(); }
  std::string_view text(Token token) const noexcept { return texts_[static_cast<std::size_t>(token)]; }
  Token find(std::string_view text) const noexcept {  // kNoToken: there is none
    const auto found = tokens_.find(text);
    return found == tokens_.end() ? -1 : found->second;
  }
  std::size_t longest() const noexcept { return longest_; }  // bytes of the longest text

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string_view, Token> tokens_;
  std::size_t longest_ = 0;
};

// "<0x0A>" is 10; nothing where the text is not of that form. Digits may be of either case.
std::optional<std::uint8_t> byte_named(std::string_view text) noexcept;
std::string name_of_byte(std::uint8_t byte);  // "<0x0A>"

}  // namespace sharpmax::model
