// How messages about normalizers speak of what they found.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax {

// " (column 8)", or nothing for column 0: the mistake is not in a text.
std::string at_column(std::size_t column);

// "alpha, delta and beta"
std::string joined(std::span<const std::string_view> words);

// "; did you mean entmax?", or nothing when no word is close.
std::string suggestion(std::string_view word, std::span<const std::string_view> known);

}  // namespace sharpmax
