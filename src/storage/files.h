// Files: written whole or not at all, mapped, read as text, and their checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sharpmax {

// A file that appears whole or not at all: written beside its target under a temporary name, then
// renamed over it. Destroyed before commit(), it leaves no trace and the earlier file as it was.
//
// A target that is not a regular file (a device, a pipe) cannot be renamed over: it is written directly.

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);  // throws Error{io}, as all of these
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();
  // As commit(), unless there is a file of this name already, which then stays. Of several processes one wins.
  bool commit_first();

 private:
  void close_whole();
  [[noreturn]] void fail(std::string_view what) const;
  void open_beside();

  std::filesystem::path target_;
  std::string temporary_;  // empty: written directly, or committed
  int file_ = -1;
  int slot_ = -1;
};

// Deletes the temporary files of this process. Safe in a signal handler, just before the end.
void remove_unfinished_files() noexcept;

// Small files of text, whole.
std::string read_text(const std::filesystem::path& path);  // throws Error; pipes are read to their end
void write_text(const std::filesystem::path& path, std::string_view text);  // by an atomic rename
bool write_first_text(const std::filesystem::path& path, std::string_view text);  // false: one was there already

// A file seen as memory: read-only, nothing is copied, pages come when they are touched.
//
// A file that another process cuts short while it is mapped ends this one when the lost pages are touched;
// files replaced by rename, as AtomicFile does it, are safe.

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // throws Error{io}, or {bad_file} for a folder
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

// Bytes as text: SHA-256 (FIPS 180-4), which `sha256sum` and Hugging Face print too, and base64 (RFC 4648) for
// small pictures inside JSON.

// 64 lower-case hexadecimal digits. Bytes are looked at in pieces; `on_bytes`, where given, hears after each
// how many there have been, and may throw to end it.
std::string sha256_of(std::span<const std::byte> bytes,
                      const std::function<void(std::size_t)>& on_bytes = {});

std::string base64_of(std::span<const std::uint8_t> bytes);
// Nothing if the letters are not base64, whole and padded.
std::optional<std::vector<std::uint8_t>> bytes_in_base64(std::string_view letters);

// Bytes compressed as gzip (RFC 1952), which browsers unpack.

// The same bytes for the same text, whenever it is written: no name, no date. Throws Error{io} if memory runs out.
std::vector<std::uint8_t> gzip_of(std::string_view text);

// Characters that know how far they have been read: a parser whose tokens carry no position (nlohmann's)
// gets one through its input.

class CountingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator() = default;
  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_ = nullptr;
  const char** furthest_ = nullptr;
};

}  // namespace sharpmax
