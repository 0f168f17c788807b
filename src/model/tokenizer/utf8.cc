#include "model/tokenizer/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sharpmax::model {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::uint8_t byte_at(std::string_view text, std::size_t i) noexcept {
  return static_cast<std::uint8_t>(text[i]);
}

bool continues(std::string_view text, std::size_t i) noexcept {
  return i < text.size() && (byte_at(text, i) & 0xc0) == 0x80;
}

struct Lead {
  std::size_t length;                    // 0: no lead byte
  std::uint8_t low = 0x80, high = 0xbf;  // what the second byte may be (Unicode, table 3-7)
};

Lead lead_of(std::uint8_t byte) noexcept {
  if (byte < 0x80) return {1};
  if (byte < 0xc2) return {0};
  if (byte < 0xe0) return {2};
  if (byte == 0xe0) return {3, 0xa0, 0xbf};
  if (byte == 0xed) return {3, 0x80, 0x9f};
  if (byte < 0xf0) return {3};
  if (byte == 0xf0) return {4, 0x90, 0xbf};
  if (byte < 0xf4) return {4};
  if (byte == 0xf4) return {4, 0x80, 0x8f};
  return {0};
}

// How many bytes from the start agree with some well-formed character, and whether they are all of it.
struct Prefix {
  std::size_t bytes;
  bool whole;
};

Prefix well_formed_prefix(std::string_view text) noexcept {
  if (text.empty()) return {0, false};
  const Lead lead = lead_of(byte_at(text, 0));
  if (lead.length == 0) return {0, false};
  std::size_t bytes = 1;
  while (bytes < lead.length && continues(text, bytes)) {
    const std::uint8_t byte = byte_at(text, bytes);
    if (bytes == 1 && (byte < lead.low || byte > lead.high)) break;
    ++bytes;
  }
  return {bytes, bytes == lead.length};
}

// A sequence by its bit pattern alone: no shortest form, no ranges.
struct Loose {
  std::size_t length;  // 0: none
  char32_t code_point;
};

Loose loose_sequence(std::string_view text) noexcept {
  const std::uint8_t first = byte_at(text, 0);
  if (first < 0x80) return {1, first};
  const std::size_t length = first < 0xc0 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4 : 0;
  if (length == 0) return {0, 0};
  char32_t code_point = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(text, i)) return {0, 0};
    code_point = (code_point << 6) | (byte_at(text, i) & 0x3fU);
  }
  if (code_point > 0x10ffff) return {0, 0};
  return {length, code_point};
}

}  // namespace

std::size_t character_length(std::string_view text) noexcept {
  const Prefix prefix = well_formed_prefix(text);
  return prefix.whole ? prefix.bytes : 0;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string with_replacements(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Prefix prefix = well_formed_prefix(text);
    const std::size_t bytes = std::max<std::size_t>(prefix.bytes, 1);
    out += prefix.whole ? text.substr(0, bytes) : kReplacement;
    text.remove_prefix(bytes);
  }
  return out;
}

std::string as_llama_cpp_reads(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Loose loose = loose_sequence(text);
    append_code_point(out, loose.length == 0 ? U'\xfffd' : loose.code_point);
    text.remove_prefix(std::max<std::size_t>(loose.length, 1));
  }
  return out;
}

std::string without_surrogates(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i + 2 < out.size(); ++i) {
    if (byte_at(out, i) == 0xed && byte_at(out, i + 1) >= 0xa0) out.replace(i, 3, "\xef\xbf\xbf");
  }
  return out;
}

std::size_t unfinished_bytes(std::string_view text) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    if (continues(tail, 0)) continue;
    const Prefix prefix = well_formed_prefix(tail);
    return !prefix.whole && prefix.bytes == back ? back : 0;
  }
  return 0;
}

void append_code_point(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put(0x80 | (code_point & 0x3f));
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  } else {
    put(0xf0 | code_point >> 18);
    put(0x80 | (code_point >> 12 & 0x3f));
    put(0x80 | (code_point >> 6 & 0x3f));
    put(0x80 | (code_point & 0x3f));
  }
}

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
