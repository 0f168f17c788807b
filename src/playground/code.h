// The module that the report page carries: src/playground compiled to WebAssembly, then gzip.
#pragma once

#include <span>

namespace sharpmax::playground {

// Nothing if the build had no emcc.
std::span<const unsigned char> code();

}  // namespace sharpmax::playground
