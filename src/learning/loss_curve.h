// The loss over a training: its mean over each of at most 200 equal stretches of steps. Sums are kept step by
// step, so that a training that was interrupted and went on has the same curve, bit for bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sharpmax::learning {

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
