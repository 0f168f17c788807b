// SHA-256 (FIPS 180-4), by which a file is known wherever it goes: `sha256sum` and Hugging Face print the
// same.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace sharpmax {

// 64 lower-case hexadecimal digits. Bytes are looked at in pieces; `on_bytes`, where given, hears after each
// how many there have been, and may throw to end it.
std::string sha256_of(std::span<const std::byte> bytes,
                      const std::function<void(std::size_t)>& on_bytes = {});

}  // namespace sharpmax
