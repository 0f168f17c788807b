# cmake -D module=FILE -D out=FILE.cc -P embed_code.cmake
#
# Makes a C++ source of the compressed module's bytes; CMake alone does it, as it does the page.
file(READ ${module} digits HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${digits}")
file(WRITE ${out} "// Made by embed_code.cmake of the playground's module.
#include \"playground/code.h\"

namespace sharpmax::playground {
namespace {

constexpr unsigned char kBytes[] = {
${bytes}};

}  // namespace

std::span<const unsigned char> code() { return kBytes; }

}  // namespace sharpmax::playground
")
