// A file seen as memory: read-only, nothing is copied, pages come when they are touched.
//
// A file that another process cuts short while it is mapped ends this one when the lost pages are touched;
// files replaced by rename, as AtomicFile does it, are safe.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace sharpmax {

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

}  // namespace sharpmax
