// The end of a command's text: an answer in one sentence, and the command to try next.
#pragma once

#include <string>
#include <string_view>

namespace sharpmax::cli {

// answer: a sentence, or nothing if the text ends in one already. purpose: "To see whether a normalizer helps".
// command: the words after `sharpmax`, fit to be typed; they stand on a line of their own.
std::string closing(std::string_view answer, std::string_view purpose, std::string_view command);

}  // namespace sharpmax::cli
