// Numbers out of stored bytes: little-endian, at any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/float16.h"

namespace sharpmax::model {

static_assert(std::endian::native == std::endian::little, "stored weights are little-endian; so are we");

template <typename T>
T stored(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline float stored_float16(const std::byte* at) noexcept {
  return to_float(float16{stored<std::uint16_t>(at)});
}

// A byte, half a byte: as int, so that what follows is plain arithmetic.
inline int byte_at(const std::byte* at) noexcept { return std::to_integer<int>(*at); }
inline int low_half(const std::byte* at) noexcept { return byte_at(at) & 0x0f; }
inline int high_half(const std::byte* at) noexcept { return byte_at(at) >> 4; }

}  // namespace sharpmax::model
