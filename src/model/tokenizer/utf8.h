// UTF-8, well-formed and not. Text comes from people and files, so every function takes any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sharpmax::model {

// Bytes of the well-formed character at the start of `text`; 0 if there is none. Well-formed as Unicode
// says: shortest form, no surrogates, nothing above U+10FFFF.
std::size_t character_length(std::string_view text) noexcept;

bool is_utf8(std::string_view text) noexcept;

// Every maximal piece that begins no character becomes U+FFFD, as Python's errors="replace" and Rust's
// from_utf8_lossy do it.
std::string with_replacements(std::string_view text);

// As llama.cpp reads text for byte-level BPE: a byte that begins no sequence becomes U+FFFD; overlong forms
// become what they stand for; surrogates stay as they are. Above U+10FFFF llama.cpp throws; here each byte
// becomes U+FFFD.
std::string as_llama_cpp_reads(std::string_view text);

// The same bytes with every surrogate (three bytes) replaced by U+FFFF (three bytes), which like them is no
// letter, number, mark, punctuation, symbol or space: for PCRE2, which takes no surrogates.
std::string without_surrogates(std::string_view text);

// Bytes at the end of `text` that could yet become a character: 0 to 3.
std::size_t unfinished_bytes(std::string_view text) noexcept;

void append_code_point(std::string& out, char32_t code_point);

// The alphabet of byte-level BPE: each of the 256 bytes spelt as one printable character, so that a
// vocabulary is text. Printable Latin-1 bytes spell themselves, the others take U+0100 onwards: a space is
// "Ġ" (U+0120).

std::string_view spelling_of(std::uint8_t byte) noexcept;
std::string spelt(std::string_view bytes);
// The bytes that a text in this alphabet stands for; nothing where a character is not of it.
std::optional<std::string> unspelt(std::string_view text);

}  // namespace sharpmax::model
