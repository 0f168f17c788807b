// Paper A's table: accuracy over ten seeds, the same weights under softmax and with adaptive temperature.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sharpmax::retrieval {

struct Published {
  std::string_view normalizer;
  std::int64_t n = 0;
  double accuracy = 0.0;
  bool remembered = false;  // not read from the paper's text: from memory
};

std::span<const Published> published_table();

}  // namespace sharpmax::retrieval
