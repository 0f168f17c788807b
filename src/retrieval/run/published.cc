#include "retrieval/run/published.h"

#include <array>

namespace sharpmax::retrieval {
namespace {

constexpr std::array<Published, 18> kTable = {{
    {"softmax", 16, 0.986},    {"softmax", 64, 0.943},    {"softmax", 128, 0.897},
    {"softmax", 256, 0.813},   {"softmax", 512, 0.701},   {"softmax", 1024, 0.538},
    {"softmax", 2048, 0.357},  {"softmax", 4096, 0.226},  {"softmax", 16384, 0.124},
    {"adaptive", 16, 0.986},   {"adaptive", 64, 0.945},   {"adaptive", 128, 0.899},
    {"adaptive", 256, 0.821},  {"adaptive", 512, 0.725},  {"adaptive", 1024, 0.577},
    {"adaptive", 2048, 0.394}, {"adaptive", 4096, 0.249}, {"adaptive", 16384, 0.140},
}};

}  // namespace

std::span<const Published> published_table() { return kTable; }

}  // namespace sharpmax::retrieval
