// Rotary positions: angles of a run of positions, and queries and keys turned by them.
#pragma once

#include <cstdint>
#include <vector>

#include "model/architecture/architecture.h"
#include "sharpmax/tensor.h"

namespace sharpmax::model {

// Radians a position of every pair, stretched as the scaling says; and what cos and sin are multiplied by.
struct RopeFrequencies {
  std::vector<double> per_position;  // [features / 2]
  double magnitude = 1;
};
RopeFrequencies rope_frequencies(const Rope& rope);

// cos and sin for positions first .. first + count - 1, [position, pair].
class RopeTable {
 public:
  RopeTable() = default;
  explicit RopeTable(const Rope& rope);
  void fill(std::int64_t first, std::int64_t count);
  // Turns the heads of one token in place; `index` counts from the first position filled.
  void turn(std::int64_t index, float* heads, std::int64_t head_count, std::int64_t head_width) const;

 private:
  Rope rope_;
  RopeFrequencies frequencies_;
  std::vector<float> cos_, sin_;
};

// What a transformer does to a row of features besides products and attention. SIMD, one thread, sums in an
// order that depends on the length alone. NaN and infinities go through.

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
