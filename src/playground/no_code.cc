// The empty module of a build without clang and wasi-libc.
#include "playground/code.h"

namespace sharpmax::playground {

std::span<const unsigned char> code() { return {}; }

}  // namespace sharpmax::playground
