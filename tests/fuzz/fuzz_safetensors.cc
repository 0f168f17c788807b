// Any bytes either are one Error{bad_file} or tensors that cover the data exactly, each within the file.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "sharpmax/error.h"
#include "storage/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto header = sharpmax::parse_safetensors_header(std::as_bytes(std::span(data, size)), "fuzz");
    std::uint64_t covered = header.data_offset;
    for (const sharpmax::SafetensorEntry& tensor : header.tensors) {
      if (tensor.begin != covered || tensor.end < tensor.begin || tensor.end > size) std::abort();
      if (tensor.elements * sharpmax::size_of(tensor.type) != tensor.end - tensor.begin) std::abort();
      covered = tensor.end;
    }
    if (covered != size) std::abort();
  } catch (const sharpmax::Error& error) {
    if (error.code() != sharpmax::ErrorCode::bad_file) std::abort();
    if (!std::string_view(error.what()).starts_with("fuzz: at byte ")) std::abort();
  }
  return 0;
}
