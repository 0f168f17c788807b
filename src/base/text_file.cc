#include "base/text_file.h"

#include <fstream>
#include <iterator>

#include "base/atomic_file.h"
#include "base/mapped_file.h"

namespace sharpmax {

std::string read_text(const std::filesystem::path& path) {
  if (std::error_code ignored; std::filesystem::is_fifo(path, ignored)) {  // a shell's <(command)
    std::ifstream pipe(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(pipe), {}};
  }
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(text.data(), text.size())));
  file.commit();
}

}  // namespace sharpmax
