// Arrays in NumPy's .npy files, versions 1 to 3: read with suspicion, written as NumPy does.
//
// A file is never believed: header length, shape and size are checked against the bytes that
// are there before anything is allocated. Every refusal is Error{bad_file} and says at which byte.
// The data always arrive in C order; an array saved in Fortran order is reordered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax {

enum class NpyType { float16, float32, float64, boolean, int64, uint16 };

std::size_t size_of(NpyType type) noexcept;
std::string_view descr_of(NpyType type) noexcept;  // as in the file: "<f4"

// Bytes aligned for any vector load, not initialised.
class ArrayBytes {
 public:
  ArrayBytes() = default;
  explicit ArrayBytes(std::size_t size);  // throws std::bad_alloc
  std::byte* data() noexcept { return data_.get(); }
  const std::byte* data() const noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

struct NpyArray {
  NpyType type = NpyType::float32;
  std::vector<std::int64_t> shape;
  ArrayBytes bytes;  // C order, size_of(type) each; bool bytes are 0 or 1

  std::int64_t elements() const noexcept;
};

// What the first bytes of a file say, checked for sense but not yet against the file's size.
struct NpyHeader {
  NpyType type = NpyType::float32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::uint64_t shape_offset = 0;  // of the shape in the file, for messages
  std::uint64_t data_offset = 0;
  std::uint64_t data_bytes = 0;
};

// The longest start of a file that a header can need.
inline constexpr std::size_t kNpyHeaderLimit = std::size_t{1} << 20;

// `start` holds the first min(file_size, kNpyHeaderLimit) bytes; `name` opens every message.
NpyHeader parse_npy_header(std::span<const std::byte> start, std::uint64_t file_size, std::string_view name);

// Brings raw data, as the file has them, into the promised form: C order, valid bools.
NpyArray finish_npy(const NpyHeader& header, ArrayBytes data, std::string_view name);

NpyArray parse_npy(std::span<const std::byte> file, std::string_view name);
NpyArray read_npy(const std::filesystem::path& path);

// Magic, version and header, padded so that the data start at a multiple of 64.
std::string npy_header_for(NpyType type, std::span<const std::int64_t> shape);

// An array that belongs to someone else, to be written.
struct NpyView {
  NpyType type = NpyType::float32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;

  std::size_t byte_size() const noexcept;
};

// By a temporary name and an atomic rename: a failed write leaves an earlier file as it was.
void write_npy(const std::filesystem::path& path, const NpyView& array);

// Named arrays in NumPy's .npz files: zip archives whose members are .npy files.
//
// Members are stored or deflated; any other method, encryption, a name given twice or an archive that
// contradicts itself is refused. A member's claimed size is not believed: deflate cannot make
// more than 1032 bytes out of one, so a claim beyond that is refused before anything is allocated.

struct NamedNpyArray {
  std::string name;  // without .npy
  NpyArray array;
};

// Every member, in the archive's order.
std::vector<NamedNpyArray> read_npz(const std::filesystem::path& path);

struct NamedNpyView {
  std::string name;
  NpyView array;
};

// Stored, not compressed, as numpy.savez does; atomically, as write_npy does.
void write_npz(const std::filesystem::path& path, const std::vector<NamedNpyView>& arrays);

}  // namespace sharpmax
