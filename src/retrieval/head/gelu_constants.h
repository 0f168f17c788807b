// GELU in its tanh form: GELU(x) = x / (1 + exp(-u)), u = kGeluRate x (1 + kGeluCubic x^2).
#pragma once

namespace sharpmax::retrieval {

inline constexpr double kGeluRate = 2.0 * 0.79788456080286535588;  // 2 sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;

}  // namespace sharpmax::retrieval
