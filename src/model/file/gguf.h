// GGUF files, version 2 and 3, little-endian: mapped, and not trusted.
//
//   "GGUF" | version | tensor count | entry count | entries | tensor descriptions | padding | data
//
// Before an entry or a tensor is handed out, every count, length, type, shape and place has been checked
// against the bytes that are there. Every refusal is Error{bad_file} and says at which byte; types that are
// well-formed but not ours are Error{unsupported}. What the format leaves open stays allowed: holes between
// tensors, bytes after the last.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"
#include "storage/files.h"

namespace sharpmax::model {

enum class GgufType : std::uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  string,
  array,
  uint64,
  int64,
  float64
};
std::string_view name_of(GgufType type) noexcept;  // "uint32"

struct GgufValue {
  GgufType type = GgufType::uint32;
  GgufType element = GgufType::uint32;  // of an array
  std::uint64_t count = 1;              // elements of an array
  std::span<const std::byte> bytes;     // strings without their length; arrays as they lie
  std::uint64_t offset = 0;             // of bytes in the file
};

struct GgufEntry {
  std::string key;
  GgufValue value;
};

struct GgufHeader {
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::uint64_t data_offset = 0;
  std::vector<GgufEntry> entries;  // in the order of the file
  std::vector<StoredTensor> tensors;
  std::vector<ForeignTensor> foreign_tensors;  // of types that the format has and we do not
};

// `file` is the whole file; `name` opens every message. Only the header is touched.
GgufHeader parse_gguf_header(std::span<const std::byte> file, std::string_view name,
                             ForeignTypes foreign = ForeignTypes::refuse);

struct GgufPart {
  std::string name;
  MappedFile file;
};

// One file, or a model that is split over several: given the first, the others are found beside it by their names
// (NAME-00001-of-00003.gguf), and their tensors are here as well. Entries are those of the first.
class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& path, ForeignTypes foreign = ForeignTypes::refuse);
  GgufFile(GgufFile&&) noexcept = default;
  GgufFile& operator=(GgufFile&&) noexcept = default;

  const std::string& name() const noexcept { return name_; }
  std::uint32_t version() const noexcept { return header_.version; }
  std::span<const GgufEntry> entries() const noexcept { return header_.entries; }
  std::span<const StoredTensor> tensors() const noexcept { return header_.tensors; }
  std::span<const ForeignTensor> foreign_tensors() const noexcept { return header_.foreign_tensors; }
  std::uint64_t alignment() const noexcept { return header_.alignment; }
  std::uint64_t size() const noexcept;                              // of all parts
  std::span<const GgufPart> parts() const noexcept { return parts_; }
  const GgufEntry* find(std::string_view key) const noexcept;                  // null: there is none
  const StoredTensor* find_tensor(std::string_view name) const noexcept;

  // Typed before any cast. Nothing where the key is absent; Error{bad_file} where its value is of another
  // kind.
  std::optional<std::int64_t> integer(std::string_view key) const;  // any whole number that fits
  std::optional<double> number(std::string_view key) const;         // float32, float64 or a whole number
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<float>> numbers(std::string_view key) const;  // float32 arrays
  std::optional<std::vector<std::int64_t>> integers(
      std::string_view key) const;  // whole-number arrays, booleans as 0 and 1

 private:
  void open_other_parts(const std::filesystem::path& path, ForeignTypes foreign);

  std::string name_;
  std::vector<GgufPart> parts_;
  GgufHeader header_;
  std::vector<std::size_t> keys_, names_;  // indices sorted by key, by tensor name
};

// The numbers by which GGUF files name their types.

// Of one value; 0 for strings and arrays, which have no fixed size.
std::uint64_t size_of(GgufType type) noexcept;

struct GgufTensorType {
  std::uint32_t number;
  TypeLayout layout;
  std::optional<TensorType> ours;  // nothing: the format has it, we do not
};

const GgufTensorType* gguf_tensor_type(std::uint32_t number) noexcept;  // null: no such type
// Name of a type that the format has dropped; empty for any other number.
std::string_view removed_gguf_type(std::uint32_t number) noexcept;

// A place in a GGUF file that moves on as numbers and texts are read, and never past the end.

inline std::string_view as_text(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> file, std::string_view name, std::uint64_t at = 0)
      : file_(file), name_(name), at_(at) {}

  std::uint64_t at() const noexcept { return at_; }
  std::uint64_t left() const noexcept { return file_.size() - at_; }

  [[noreturn]] void fail(std::uint64_t at, std::string_view what,
                         ErrorCode code = ErrorCode::bad_file) const {
    throw Error(code, fmt::format("{}: at byte {}: {}", name_, at, what));
  }

  std::span<const std::byte> bytes(std::uint64_t count, std::string_view what) {
    if (count > left())
      fail(at_, fmt::format("{} takes {} bytes, but the file ends after {}", what, count, left()));
    const auto found = file_.subspan(at_, count);
    at_ += count;
    return found;
  }
  template <typename T>
  T number(std::string_view what) {
    return stored<T>(bytes(sizeof(T), what).data());
  }
  // A length and as many bytes.
  std::span<const std::byte> text(std::string_view what) {
    const std::uint64_t start = at_;
    const auto length = number<std::uint64_t>(what);
    if (length > left())
      fail(start, fmt::format("{} has length {}, but {} bytes are left", what, length, left()));
    return bytes(length, what);
  }
  // How many follow, where each takes at least `least` bytes: so no count can ask for more memory than there
  // are bytes.
  std::uint64_t count(std::string_view what, std::uint64_t least) {
    const std::uint64_t start = at_;
    const auto found = number<std::uint64_t>(what);
    if (found > left() / least)
      fail(start, fmt::format("there should be {} {}, but {} bytes are left", found, what, left()));
    return found;
  }

 private:
  std::span<const std::byte> file_;
  std::string_view name_;
  std::uint64_t at_;
};

}  // namespace sharpmax::model
