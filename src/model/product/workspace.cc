#include "model/product/product.h"

namespace sharpmax::model {
namespace {

float* aligned(std::vector<float>& memory, std::size_t floats) {
  constexpr std::size_t kAlignment = 64;
  if (memory.size() < floats + kAlignment / sizeof(float)) memory.resize(floats + kAlignment / sizeof(float));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return reinterpret_cast<float*>((address + kAlignment - 1) / kAlignment * kAlignment);
}

}  // namespace

float* ProductWorkspace::panel(int thread, std::size_t floats) {
  return aligned(panels_[static_cast<std::size_t>(thread)], floats);
}

float* ProductWorkspace::shared(std::size_t floats) { return aligned(shared_, floats); }

}  // namespace sharpmax::model
