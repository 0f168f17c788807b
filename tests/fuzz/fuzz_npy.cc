// Any bytes either are one Error{bad_file} or an array that, written again, reads back the same.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "sharpmax/error.h"
#include "storage/npy.h"

namespace {

bool same(const sharpmax::NpyArray& a, const sharpmax::NpyArray& b) {
  if (a.type != b.type || a.shape != b.shape || a.bytes.size() != b.bytes.size()) return false;
  return a.bytes.size() == 0 || std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

sharpmax::NpyArray written_and_read(const sharpmax::NpyArray& array) {
  std::string file = sharpmax::npy_header_for(array.type, array.shape);
  file.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  return sharpmax::parse_npy(std::as_bytes(std::span(file)), "written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto array = sharpmax::parse_npy(std::as_bytes(std::span(data, size)), "fuzz");
    if (array.bytes.size() > size) std::abort();  // no more data than the file has
    // An Error here is a finding too: what we write must read.
    try {
      if (!same(array, written_and_read(array))) std::abort();
    } catch (const sharpmax::Error&) {
      std::abort();
    }
  } catch (const sharpmax::Error& error) {
    const auto code = error.code();
    if (code != sharpmax::ErrorCode::bad_file && code != sharpmax::ErrorCode::unsupported) std::abort();
    if (std::string_view(error.what()).empty()) std::abort();
  }
  return 0;
}
