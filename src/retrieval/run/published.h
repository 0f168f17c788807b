// Paper A's table: accuracy over ten seeds, the same weights under softmax and with adaptive temperature. Sizes 32
// and 8,192 are missing: no source at hand states their accuracies.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sharpmax::retrieval {

struct Published {
  std::string_view normalizer;
  std::int64_t n = 0;
  double accuracy = 0.0;
};

std::span<const Published> published_table();

}  // namespace sharpmax::retrieval
