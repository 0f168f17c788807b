// Exceptions in WebAssembly. wasi-libc's C++ library has none, so a `throw` here hands its sentence to the page: the import
// throws a JavaScript error, which leaves the module in the middle of a call. The page then starts a fresh instance
// (src/report/page/playground_module.js). Catch blocks are dropped by the compiler.
#include <cstddef>
#include <cstdlib>
#include <exception>

extern "C" {

[[noreturn]] __attribute__((import_module("sharpmax"), import_name("refuse"))) void refuse(const char* sentence);

void* __cxa_allocate_exception(std::size_t bytes) { return std::malloc(bytes); }
void __cxa_free_exception(void*) {}

// Everything that this library throws is a std::exception, as its first base.
[[noreturn]] void __cxa_throw(void* thrown, void*, void (*)(void*)) {
  refuse(static_cast<const std::exception*>(thrown)->what());
}

}  // extern "C"
