// FNV-1a in 64 bits: enough to notice damage, no defence against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sharpmax::retrieval {

class Checksum {
 public:
  Checksum& add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) mix(std::to_integer<std::uint64_t>(byte));
    for (std::uint64_t length = bytes.size(), i = 0; i < 8; ++i) mix((length >> (8 * i)) & 0xff);
    return *this;
  }
  Checksum& add(std::string_view text) { return add(std::as_bytes(std::span(text.data(), text.size()))); }
  std::uint64_t value() const noexcept { return value_; }

 private:
  void mix(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace sharpmax::retrieval
