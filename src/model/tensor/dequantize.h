// Stored weights to float, one value at a time in the order of the file: the specification that every faster
// product is compared with. Rounded as the reference implementation rounds, so equal to it to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/tensor/tensor_type.h"

namespace sharpmax::model {

// `elements` are whole blocks. Any bits are weights: hostile scales give inf or NaN, never a fault.
void dequantize(TensorType type, const std::byte* blocks, std::int64_t elements, float* out) noexcept;

}  // namespace sharpmax::model
