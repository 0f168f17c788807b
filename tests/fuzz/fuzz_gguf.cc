// Any bytes either are one Error with the byte where they are wrong, or a header whose texts, arrays and
// tensors all lie within the file.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "model/file/gguf.h"
#include "sharpmax/error.h"

namespace {

using namespace sharpmax::model;

void check(const GgufHeader& header, std::span<const std::byte> file) {
  const auto within = [&](std::uint64_t offset, std::uint64_t bytes) {
    if (offset > file.size() || bytes > file.size() - offset) std::abort();
  };
  for (const GgufEntry& entry : header.entries) {
    const GgufValue& value = entry.value;
    within(value.offset, value.bytes.size());
    if (value.type != GgufType::array || value.element == GgufType::string) continue;
    if (value.bytes.size() != value.count * size_of(value.element)) std::abort();
  }
  std::uint64_t covered = 0;
  for (const StoredTensor& tensor : header.tensors) {
    within(tensor.offset, tensor.bytes.size());
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.shape) elements *= extent;
    if (elements < 1 || bytes_of(tensor.type, elements) != static_cast<std::int64_t>(tensor.bytes.size()))
      std::abort();
    covered += tensor.bytes.size();
  }
  for (const ForeignTensor& tensor : header.foreign_tensors) {
    within(tensor.offset, tensor.bytes);
    covered += tensor.bytes;
  }
  if (covered > file.size()) std::abort();  // without overlap there is no room for more
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    check(parse_gguf_header(file, "fuzz", ForeignTypes::keep), file);
  } catch (const sharpmax::Error& error) {
    if (error.code() != sharpmax::ErrorCode::bad_file && error.code() != sharpmax::ErrorCode::unsupported)
      std::abort();
    if (!std::string_view(error.what()).starts_with("fuzz: at byte ")) std::abort();
  }
  return 0;
}
