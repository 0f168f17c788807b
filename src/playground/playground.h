// The family for a web page: a few C functions, and the members as JSON.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace sharpmax::playground {

// The family as JSON text. By hand, because a JSON library would be most of a module that is sent with every
// page.

// More than a page can show; every rule stays quick enough to follow a slider.
inline constexpr std::size_t kLargestRow = 65'536;

// As RowStatistics names them (sharpmax/statistics.h).
inline constexpr std::array<std::string_view, 9> kStatistics = {
    "entropy", "peak_weight", "peak_key",  "effective_support", "support",
    "mass",    "temperature", "threshold", "log_partition"};

std::string family_json();

}  // namespace sharpmax::playground

// The family for a web page: what the report's playground calls, compiled to WebAssembly from the very
// sources that the library is made of. Plain C, because that is what WebAssembly exports.
//
// Natively nothing throws: a function that fails says so, and sharpmax_message() has the one sentence to
// show. In WebAssembly the sentence is thrown to the page instead (wasi.cc). Texts are UTF-8 and end with a zero. One caller at a time.

extern "C" {

// {"largest_row": n, "statistics": [name, ...], "normalizers": [...]}. The normalizers are those that need
// scores alone, in the form of `sharpmax attend --list --json -`.
const char* sharpmax_family();

// Whether the text names a normalizer; if not, sharpmax_message() says why.
bool sharpmax_is_normalizer(const char* normalizer);

// Weights of one row of beta * scores, and its statistics, in the order that sharpmax_family() names.
// Every score and beta must be finite, 1 <= n <= largest_row. Leaves both arrays as they are if it fails.
bool sharpmax_weigh(const char* normalizer, const double* scores, std::size_t n, double beta, double* weights,
                    double* statistics);

// Why the last of these two said no.
const char* sharpmax_message();

// Memory that the page writes into and reads from; null if there is none left.
void* sharpmax_allocate(std::size_t bytes);
void sharpmax_free(void* memory);

}  // extern "C"
