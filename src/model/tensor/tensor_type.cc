#include "model/tensor/tensor_type.h"

namespace sharpmax::model {

const TypeLayout& layout_of(TensorType type) noexcept {
  // In the order of TensorType. Bytes: scales (and minima) as float16, high bits, then low bits.
  static constexpr TypeLayout kLayouts[] = {
      {"F32", 1, 4},
      {"F16", 1, 2},
      {"BF16", 1, 2},
      {"Q8_0", 32, 2 + 32},
      {"Q4_0", 32, 2 + 16},
      {"Q4_1", 32, 4 + 16},
      {"Q5_0", 32, 2 + 4 + 16},
      {"Q5_1", 32, 4 + 4 + 16},
      {"Q4_K", 256, 4 + 12 + 128},
      {"Q5_K", 256, 4 + 12 + 32 + 128},
      {"Q6_K", 256, 128 + 64 + 16 + 2},
  };
  return kLayouts[static_cast<std::size_t>(type)];
}

}  // namespace sharpmax::model
