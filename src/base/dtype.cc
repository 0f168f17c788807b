#include "sharpmax/tensor.h"

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

}  // namespace sharpmax
