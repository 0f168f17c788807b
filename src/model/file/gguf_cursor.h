// A place in a GGUF file that moves on as numbers and texts are read, and never past the end.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "model/tensor/stored_tensor.h"
#include "sharpmax/error.h"

namespace sharpmax::model {

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
