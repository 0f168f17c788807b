// The module that the report page carries: src/playground compiled to WebAssembly, then gzip.
#pragma once

#include <span>

namespace sharpmax::playground {

// Empty if the build had no clang with wasi-libc.
std::span<const unsigned char> code();

}  // namespace sharpmax::playground
