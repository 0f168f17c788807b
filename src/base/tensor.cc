#include "sharpmax/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "sharpmax/error.h"

namespace sharpmax {

const char* name_of(DType type) noexcept {
  switch (type) {
    case DType::float32: return "float32";
    case DType::bfloat16: return "bfloat16";
    case DType::float16: return "float16";
    case DType::float64: return "float64";
  }
  return "unknown type";
}

namespace internal {

std::size_t tensor_elements(std::span<const std::int64_t> shape, std::size_t element_size) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorCode::bad_argument, fmt::format("tensor: shape [{}] {}", fmt::join(shape, ", "), what));
  };
  const std::size_t most = std::numeric_limits<std::ptrdiff_t>::max() / element_size;
  std::size_t elements = 1;
  std::size_t product = 1;  // empty dimensions count as one, so that their order does not matter
  for (const std::int64_t size : shape) {
    if (size < 0) refuse("has a negative size; sizes must be at least 0");
    const auto factor = static_cast<std::size_t>(std::max<std::int64_t>(size, 1));
    if (product > most / factor) refuse("has more elements than can be addressed");
    product *= factor;
    elements *= static_cast<std::size_t>(size);
  }
  return elements;
}

}  // namespace internal
}  // namespace sharpmax
