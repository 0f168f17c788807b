#include "model/product/product.h"

namespace sharpmax::model {

float* ProductWorkspace::panel(int thread, std::size_t floats) {
  constexpr std::size_t kAlignment = 64;
  std::vector<float>& memory = panels_[static_cast<std::size_t>(thread)];
  if (memory.size() < floats + kAlignment / sizeof(float)) memory.resize(floats + kAlignment / sizeof(float));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace sharpmax::model
