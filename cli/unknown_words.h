// Sentences about words that no command takes, with the nearest one that it does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sharpmax::cli {

// After a parse that ended in CLI::ExtrasError: what is wrong with the first such word, and what may be meant.
std::string about_unknown_words(const CLI::App& program);

}  // namespace sharpmax::cli
