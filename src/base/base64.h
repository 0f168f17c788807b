// Bytes as letters (RFC 4648), for small pictures inside JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax {

std::string base64_of(std::span<const std::uint8_t> bytes);
// Nothing where the letters are not base64, whole and padded.
std::optional<std::vector<std::uint8_t>> bytes_in_base64(std::string_view letters);

}  // namespace sharpmax
