// Claims: which process works on which piece of a run.
//
// A claim is a lock of the kernel on a small file, so it ends with its owner, even by kill -9. The file names host,
// process and time for whoever asks. A file system without locks costs double work and never a wrong byte: pieces are
// deterministic, and each is written whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace sharpmax {

// Owner of a claim. An owner that could not write its name is empty.
struct Holder {
  std::string host;
  std::int64_t process = 0;
  std::string since;  // UTC, 2026-01-31T23:59:59Z
};

// Hold on a piece, for as long as this lives. Its file is removed at the end: only an owner may do that.
class Claim {
 public:
  Claim(std::filesystem::path file, int descriptor, bool locked)
      : file_(std::move(file)), descriptor_(descriptor), locked_(locked) {}
  ~Claim() { release(); }
  Claim(Claim&& other) noexcept
      : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)), locked_(other.locked_) {}
  Claim& operator=(Claim&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(locked_, other.locked_);
    return *this;
  }

  bool locked() const noexcept { return locked_; }  // false: the file system keeps no locks
  void release() noexcept;

 private:
  std::filesystem::path file_;
  int descriptor_;
  bool locked_;
};

class Claims {
 public:
  explicit Claims(std::filesystem::path folder) : folder_(std::move(folder)) {}  // made when it is needed

  // Nothing if another process, or another thread of this one, has it. Throws Error{io}.
  std::optional<Claim> take(const std::string& piece) const;
  // Nothing if nobody has it. Waits for nobody and changes nothing.
  std::optional<Holder> holder(const std::string& piece) const;
  bool any_held() const;
  // Removes the files that killed processes left, and the folder if nobody has a claim in it.
  void clear() const noexcept;
  bool locks_kept() const noexcept { return locks_kept_; }  // false: the file system has refused a lock

 private:
  std::filesystem::path folder_;
  mutable std::atomic<bool> locks_kept_ = true;
};

}  // namespace sharpmax
