// Loops that every training here has in common, compiled for every instruction set. Each is written once for float and
// double; sums run in an order that the length alone fixes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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
// The same for a gradient of 0, which is not read: values move on with their moments.
template <class Real>
void adam_at_rest(const AdamStep& step, std::size_t n, Real* values, Real* first, Real* second);

// The loss over a training: its mean over each of at most 200 equal stretches of steps. Sums are kept step by
// step, so that a training that was interrupted and went on has the same curve, bit for bit.

inline constexpr std::int64_t kLossStretches = 200;

class LossCurve {
 public:
  explicit LossCurve(std::int64_t steps) : steps_(steps), sums_(static_cast<std::size_t>(stretches(steps))) {}
  LossCurve(std::int64_t steps, std::vector<double> sums) : steps_(steps), sums_(std::move(sums)) {}

  static std::int64_t stretches(std::int64_t steps) { return std::min(steps, kLossStretches); }

  void add(std::int64_t step, double loss) { sums_[static_cast<std::size_t>(stretch_of(step))] += loss; }
  const std::vector<double>& sums() const noexcept { return sums_; }

  // (steps done, mean loss) at the end of every stretch.
  std::vector<std::pair<std::int64_t, double>> points() const {
    std::vector<std::pair<std::int64_t, double>> points;
    const std::int64_t count = static_cast<std::int64_t>(sums_.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = begin_of(i), end = begin_of(i + 1);
      points.emplace_back(end, sums_[static_cast<std::size_t>(i)] / static_cast<double>(end - begin));
    }
    return points;
  }

 private:
  std::int64_t stretch_of(std::int64_t step) const {
    return step * static_cast<std::int64_t>(sums_.size()) / steps_;
  }
  // The first step of stretch i: the least s with s * stretches / steps >= i.
  std::int64_t begin_of(std::int64_t i) const {
    const auto count = static_cast<std::int64_t>(sums_.size());
    return (i * steps_ + count - 1) / count;
  }

  std::int64_t steps_;
  std::vector<double> sums_;
};

}  // namespace sharpmax::learning
