// A file that appears whole or not at all: written beside its target under a temporary name, then
// renamed over it. Destroyed before commit(), it leaves no trace and the earlier file as it was.
//
// A target that is no regular file (a device, a pipe) cannot be renamed over: it is written directly.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace sharpmax {

class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target);  // throws Error{io}, as all of these
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
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

}  // namespace sharpmax
