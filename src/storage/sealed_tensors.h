// Tensors with a checksum in their metadata, so that a damaged file is noticed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "storage/safetensors.h"

namespace sharpmax {

// FNV-1a in 64 bits: enough to notice damage, no defence against malice.
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

// As write_safetensors, with "checksum" added to the metadata.
void write_sealed_tensors(const std::filesystem::path& path, std::span<const SafetensorView> tensors,
                          SafetensorMetadata metadata);

// Throws Error{bad_file} if a file has no checksum, or another than its content.
void check_seal(const SafetensorsFile& file);

}  // namespace sharpmax
