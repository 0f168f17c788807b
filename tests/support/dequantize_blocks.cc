// dequantize_blocks TYPE: blocks from standard input, floats to standard output, so that
// tests/peer/test_gguf.py can compare every type with its reference.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/tensor/stored_tensor.h"

namespace {

using namespace sharpmax::model;

std::optional<TensorType> type_from(std::string_view name) {
  for (int i = 0; i < kTensorTypes; ++i)
    if (name_of(static_cast<TensorType>(i)) == name) return static_cast<TensorType>(i);
  return std::nullopt;
}

}  // namespace

int main(int count, char** words) {
  const auto type = count == 2 ? type_from(words[1]) : std::nullopt;
  const std::string blocks(std::istreambuf_iterator<char>(std::cin), {});
  if (!type || blocks.size() % static_cast<std::size_t>(layout_of(*type).bytes) != 0) {
    std::cerr << "usage: dequantize_blocks TYPE < whole blocks > floats\n";
    return 2;
  }
  const auto bytes = static_cast<std::int64_t>(blocks.size());
  std::vector<float> out(static_cast<std::size_t>(bytes / layout_of(*type).bytes * layout_of(*type).block));
  dequantize(*type, std::as_bytes(std::span(blocks)).data(), static_cast<std::int64_t>(out.size()),
             out.data());
  return std::fwrite(out.data(), sizeof(float), out.size(), stdout) == out.size() ? 0 : 1;
}
