// In place of the module where the build had no emcc.
#include "playground/code.h"

namespace sharpmax::playground {

std::span<const unsigned char> code() { return {}; }

}  // namespace sharpmax::playground
