// Loops that every training here has in common, compiled for every instruction set. Each is written once for float and
// double; sums run in an order that the length alone fixes.
#pragma once

#include <cstddef>

namespace sharpmax::learning {

// GELU in its tanh form: GELU(x) = x / (1 + exp(-u)), u = kGeluRate x (1 + kGeluCubic x^2).
inline constexpr double kGeluRate = 2.0 * 0.79788456080286535588;  // 2 sqrt(2 / pi)
inline constexpr double kGeluCubic = 0.044715;

// In place: values become GELU(values), d_out their derivatives.
template <class Real>
void gelu_in_place(Real* values, std::size_t n, Real* d_out);

template <class Real>
Real dot(const Real* a, const Real* b, std::size_t n);

// y += a x
template <class Real>
void add_scaled(Real a, const Real* x, std::size_t n, Real* y);

template <class Real>
double sum_of_squares(const Real* values, std::size_t n);

// One step of Adam with decoupled decay. The corrections are 1 / (1 - beta^step).
struct AdamStep {
  double learning_rate;
  double weight_decay;
  double beta1;
  double beta2;
  double epsilon;
  double correction1;
  double correction2;
  double gradient_scale;  // clipping
};
template <class Real>
void adam(const AdamStep& step, const Real* gradient, std::size_t n, Real* values, Real* first, Real* second);

}  // namespace sharpmax::learning
