// Any bytes either are one Error{bad_file} or an archive of arrays. The reader takes a path, so the
// bytes go through a file in memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "sharpmax/error.h"
#include "storage/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = memfd_create("fuzz.npz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (file < 0 || ftruncate(file, 0) != 0) std::abort();
  if (pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  try {
    for (const auto& member : sharpmax::read_npz(path)) {
      // Deflate makes at most 1032 bytes of one, so an honest archive cannot hold more.
      if (member.array.bytes.size() > 1032 * size) std::abort();
    }
  } catch (const sharpmax::Error& error) {
    const auto code = error.code();
    if (code != sharpmax::ErrorCode::bad_file && code != sharpmax::ErrorCode::unsupported) std::abort();
  }
  return 0;
}
