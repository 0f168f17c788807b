// Small files of text, whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sharpmax {

std::string read_text(const std::filesystem::path& path);  // throws Error; pipes are read to their end
void write_text(const std::filesystem::path& path, std::string_view text);  // by an atomic rename

}  // namespace sharpmax
