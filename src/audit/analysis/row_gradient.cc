#include "audit/analysis/row_geometry.h"

#include <cmath>

#include "sharpmax/attention.h"

namespace sharpmax::audit {
namespace {

std::int64_t signed_size(std::span<const double> x) { return static_cast<std::int64_t>(x.size()); }

}  // namespace

void random_direction(const CounterRandom& random, std::uint64_t row, std::int64_t keys,
                      std::vector<double>& v) {
  v.resize(static_cast<std::size_t>(keys));
  double square = 0.0;
  for (std::size_t i = 0; i < v.size(); i += 4) {
    const auto normals = random.normals((row << 20) + i / 4);
    for (std::size_t lane = 0; lane < 4 && i + lane < v.size(); ++lane) {
      v[i + lane] = normals[lane];
      square += v[i + lane] * v[i + lane];
    }
  }
  for (double& x : v) x /= std::sqrt(square);
}

RowGradient::RowGradient(const GradientPlan& plan, const AnyNormalizer& normalizer)
    : plan_(plan), normalizer_(normalizer), softmax_(normalizer.name() == "softmax") {
  if (softmax_) beta_ = normalizer.parameters()[0].of_head(0);
}

void RowGradient::add(std::span<const double> scores, std::span<const double> direction,
                      std::span<double> out) {
  if (softmax_) {
    add_softmax(scores, direction, out);
  } else {
    add_any(scores, direction, out);
  }
}

void RowGradient::add_softmax(std::span<const double> scores, std::span<const double> direction,
                              std::span<double> out) {
  const std::int64_t keys = signed_size(scores);
  const double* const l = scores.data();
  before_.resize(scores.size());
  after_.resize(scores.size());
  const double highest = highest_of(l, nullptr, 0.0, keys);
  std::size_t at = 0;
  for (const double temperature : plan_.temperatures) {
    const double rate = beta_ / temperature;
    const double before = 1.0 / exponentials(l, nullptr, 0.0, highest, rate, keys, before_.data());
    for (const double step : plan_.steps) {
      const double top = highest_of(l, direction.data(), step, keys);
      const double after = 1.0 / exponentials(l, direction.data(), step, top, rate, keys, after_.data());
      out[at++] += std::sqrt(squared_difference(after_.data(), after, before_.data(), before, keys)) / step;
    }
  }
}

// One call of normalize() for the row at every temperature, moved by every step and not at all.
void RowGradient::add_any(std::span<const double> scores, std::span<const double> direction,
                          std::span<double> out) {
  const std::size_t keys = scores.size(), steps = plan_.steps.size();
  const std::size_t rows = plan_.temperatures.size() * (steps + 1);
  scores_.resize(rows * keys);
  weights_.resize(rows * keys);
  std::size_t row = 0;
  for (const double temperature : plan_.temperatures) {
    for (std::size_t which = 0; which <= steps; ++which, ++row) {
      const double step = which == 0 ? 0.0 : plan_.steps[which - 1];
      for (std::size_t i = 0; i < keys; ++i)
        scores_[row * keys + i] = (scores[i] + step * direction[i]) / temperature;
    }
  }
  const Extents<4> shape{1, 1, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(keys)};
  normalize(TensorView<const double, 4>(scores_.data(), shape), normalizer_,
            TensorView<double, 4>(weights_.data(), shape), nullptr, {.threads = 1});
  for (std::size_t t = 0; t < plan_.temperatures.size(); ++t) {
    const double* const before = weights_.data() + t * (steps + 1) * keys;
    for (std::size_t which = 1; which <= steps; ++which)
      out[t * steps + which - 1] +=
          std::sqrt(squared_difference(before + which * keys, 1.0, before, 1.0, signed_size(scores))) /
          plan_.steps[which - 1];
  }
}

}  // namespace sharpmax::audit
