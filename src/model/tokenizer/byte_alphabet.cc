#include "model/tokenizer/byte_alphabet.h"

#include <array>

#include "model/tokenizer/utf8.h"

namespace sharpmax::model {
namespace {

constexpr int kCharacters = 0x144;  // the alphabet ends at U+0143

struct Alphabet {
  std::array<std::string, 256> spelling;
  std::array<std::int16_t, kCharacters> byte;  // by code point; -1: not of the alphabet
};

bool spells_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

const Alphabet& alphabet() {
  static const Alphabet made = [] {
    Alphabet a;
    a.byte.fill(-1);
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const int code_point = spells_itself(byte) ? byte : next++;
      append_code_point(a.spelling[static_cast<std::size_t>(byte)], static_cast<char32_t>(code_point));
      a.byte[static_cast<std::size_t>(code_point)] = static_cast<std::int16_t>(byte);
    }
    return a;
  }();
  return made;
}

}  // namespace

std::string_view spelling_of(std::uint8_t byte) noexcept { return alphabet().spelling[byte]; }

std::string spelt(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) out += spelling_of(static_cast<std::uint8_t>(c));
  return out;
}

std::optional<std::string> unspelt(std::string_view text) {
  const Alphabet& known = alphabet();
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0 || length > 2) return std::nullopt;
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t code_point =
        length == 1 ? first : (first & 0x1fU) << 6 | (static_cast<unsigned char>(text[1]) & 0x3fU);
    if (code_point >= kCharacters || known.byte[code_point] < 0) return std::nullopt;
    out += static_cast<char>(static_cast<unsigned char>(known.byte[code_point]));
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace sharpmax::model
