// The alphabet of byte-level BPE: each of the 256 bytes spelt as one printable character, so that a
// vocabulary is text. Printable Latin-1 bytes spell themselves, the others take U+0100 onwards: a space is
// "Ġ" (U+0120).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sharpmax::model {

std::string_view spelling_of(std::uint8_t byte) noexcept;
std::string spelt(std::string_view bytes);
// The bytes that a text in this alphabet stands for; nothing where a character is not of it.
std::optional<std::string> unspelt(std::string_view text);

}  // namespace sharpmax::model
