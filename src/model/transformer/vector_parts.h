// What a transformer does to a row of features besides products and attention. SIMD, one thread, sums in an
// order that depends on the length alone. NaN and infinities go through.
#pragma once

#include <cstdint>

#include "model/architecture/configuration.h"
#include "sharpmax/tensor.h"

namespace sharpmax::model {

// x / sqrt(mean(x^2) + epsilon) * scale
void root_mean_square_norm(const float* x, const float* scale, std::int64_t count, double epsilon,
                           float* out);
// (x - mean) / sqrt(variance + epsilon) * scale + shift
void layer_norm(const float* x, const float* scale, const float* shift, std::int64_t count, double epsilon,
                float* out);
// out = activation(gate) * up; up null: activation(gate). out may be either.
void activate(Activation activation, const float* gate, const float* up, std::int64_t count, float* out);
void add_to(float* sum, const float* x, std::int64_t count);
void multiply_by(float* x, float factor, std::int64_t count);
// cap tanh(x / cap)
void soft_cap(float* x, double cap, std::int64_t count);
void to_float16(const float* x, std::int64_t count, float16* out);

}  // namespace sharpmax::model
