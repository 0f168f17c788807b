// Bytes as text: SHA-256 (FIPS 180-4), which `sha256sum` and Hugging Face print too, and base64 (RFC 4648) for
// small pictures inside JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax {

// 64 lower-case hexadecimal digits. Bytes are looked at in pieces; `on_bytes`, where given, hears after each
// how many there have been, and may throw to end it.
std::string sha256_of(std::span<const std::byte> bytes,
                      const std::function<void(std::size_t)>& on_bytes = {});

std::string base64_of(std::span<const std::uint8_t> bytes);
// Nothing if the letters are not base64, whole and padded.
std::optional<std::vector<std::uint8_t>> bytes_in_base64(std::string_view letters);

}  // namespace sharpmax
