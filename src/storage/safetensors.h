// Tensors in .safetensors files: read with suspicion, written as the format's own library does.
//
//   8 bytes, the header's length N, little-endian | N bytes of JSON, starting with '{' | data
//
// A file is never believed and never copied: it is mapped, and before a tensor is handed out its name, type,
// shape and place have been checked against each other and against the bytes that are there. Tensors cover
// the data without overlap, hole or rest. Every refusal is Error{bad_file} and says at which byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/files.h"

namespace sharpmax {

enum class SafetensorType { f64, f32, f16, bf16, f8_e4m3, i64, i32, u8, boolean };

std::size_t size_of(SafetensorType type) noexcept;
std::string_view name_of(SafetensorType type) noexcept;  // as in the file: "F32"
std::optional<SafetensorType> safetensor_type_from(std::string_view name) noexcept;

using SafetensorMetadata = std::map<std::string, std::string>;

// Where one tensor lies.
struct SafetensorEntry {
  std::string name;
  SafetensorType type = SafetensorType::f32;
  std::vector<std::int64_t> shape;  // empty: one number
  std::uint64_t elements = 0;
  std::uint64_t begin = 0;  // in the file
  std::uint64_t end = 0;
  std::uint64_t name_offset = 0;  // of its name in the header, for messages
};

struct SafetensorHeader {
  std::vector<SafetensorEntry> tensors;  // in the order of their data
  SafetensorMetadata metadata;
  std::uint64_t data_offset = 0;
};

// The format's own limit.
inline constexpr std::uint64_t kSafetensorHeaderLimit = 100'000'000;

// `file` is the whole file, of which only the header is touched; `name` opens every message.
SafetensorHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view name);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::string& name() const noexcept { return name_; }
  std::span<const SafetensorEntry> tensors() const noexcept { return header_.tensors; }
  const SafetensorMetadata& metadata() const noexcept { return header_.metadata; }
  std::uint64_t size() const noexcept { return file_.bytes().size(); }         // of the file, in bytes
  std::span<const std::byte> bytes() const noexcept { return file_.bytes(); }  // of the file
  const SafetensorEntry* find(std::string_view tensor) const noexcept;         // null: there is none
  // Their place in the file: not copied, and aligned only as far as the writer of the file aligned them.
  std::span<const std::byte> bytes(const SafetensorEntry& tensor) const noexcept {
    return file_.bytes().subspan(tensor.begin, tensor.end - tensor.begin);
  }

 private:
  std::string name_;
  MappedFile file_;
  SafetensorHeader header_;
  std::vector<std::size_t> by_name_;  // indices of tensors, sorted by name
};

// A tensor that belongs to someone else, to be written.
struct SafetensorView {
  std::string name;
  SafetensorType type = SafetensorType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};

// By a temporary name and an atomic rename. Larger types come first, so that every tensor is aligned to its
// own type; else the order given is kept. Throws Error{bad_argument} for names given twice or not in UTF-8.
void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorView> tensors,
                       const SafetensorMetadata& metadata = {});

// Tensors with a checksum in their metadata, so that a damaged file is noticed.

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
