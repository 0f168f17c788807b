// Files that a command writes when its job is done, and the options that name them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "job/call_files.h"

namespace sharpmax::cli {

// Options that every command has alike.
void add_json_option(CLI::App& words, std::string& json, std::string_view schema, const char* group);
void add_overwrite_option(CLI::App& words, bool& overwrite, const char* group);

// Text to a file, or to standard output where that is "-". Nothing for an empty name.
void deliver(const std::string& where, const std::string& text);

// Throws Usage if an option that needs a value is followed by another option or by nothing: CLI11 would take
// the option as the value. A value that begins with a dash is written --option=VALUE, but for numbers.
void check_values(const CLI::App& words, const std::vector<std::string>& typed, std::size_t first);

}  // namespace sharpmax::cli
