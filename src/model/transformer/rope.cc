#include "model/transformer/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sharpmax::model {
namespace {

// The pair that turns `turns` times over `length` positions, as a real number.
double pair_of_turns(double turns, double length, double features, double base) {
  return features * std::log(length / (turns * 2.0 * std::numbers::pi)) / (2.0 * std::log(base));
}

// Peng et al. 2023, arXiv 2309.00071: slow pairs are interpolated, fast ones kept, a ramp between.
void stretch_by_yarn(RopeFrequencies& f, const Rope& rope) {
  const RopeScaling& s = rope.scaling;
  const double features = static_cast<double>(rope.features);
  double low = pair_of_turns(s.beta_fast, s.original_length, features, rope.base);
  double high = pair_of_turns(s.beta_slow, s.original_length, features, rope.base);
  if (s.whole_bounds) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, features - 1.0);
  if (low == high) high += 1e-3;
  for (std::size_t pair = 0; pair < f.per_position.size(); ++pair) {
    const double ramp = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
    f.per_position[pair] *= ramp / s.factor + (1.0 - ramp);
  }
  const double by_factor = s.factor > 1 ? 0.1 * std::log(s.factor) + 1.0 : 1.0;
  f.magnitude = s.attention_factor > 0 ? s.attention_factor : by_factor;
}

void stretch_by_llama3(RopeFrequencies& f, const RopeScaling& s) {
  for (double& frequency : f.per_position) {
    const double turns = s.original_length * frequency / (2.0 * std::numbers::pi);
    const double kept = std::clamp(
        (turns - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor), 0.0, 1.0);
    frequency *= (1.0 - kept) / s.factor + kept;
  }
}

}  // namespace

RopeFrequencies rope_frequencies(const Rope& rope) {
  using Kind = RopeScaling::Kind;
  RopeFrequencies f;
  const double features = static_cast<double>(rope.features);
  const bool wider = rope.scaling.kind == Kind::ntk && features > 2;
  const double base =
      wider ? rope.base * std::pow(rope.scaling.factor, features / (features - 2.0)) : rope.base;
  for (std::int64_t pair = 0; pair < rope.features / 2; ++pair) {
    double frequency = std::pow(base, -2.0 * static_cast<double>(pair) / features);
    if (!rope.divisors.empty())
      frequency /= static_cast<double>(rope.divisors[static_cast<std::size_t>(pair)]);
    f.per_position.push_back(frequency);
  }
  if (rope.scaling.kind == Kind::linear)
    for (double& frequency : f.per_position) frequency /= rope.scaling.factor;
  if (rope.scaling.kind == Kind::yarn) stretch_by_yarn(f, rope);
  if (rope.scaling.kind == Kind::llama3) stretch_by_llama3(f, rope.scaling);
  if (rope.scaling.kind == Kind::longrope) f.magnitude = rope.scaling.attention_factor;
  return f;
}

RopeTable::RopeTable(const Rope& rope) : rope_(rope), frequencies_(rope_frequencies(rope)) {}

void RopeTable::fill(std::int64_t first, std::int64_t count) {
  const std::size_t pairs = frequencies_.per_position.size();
  cos_.resize(static_cast<std::size_t>(count) * pairs);
  sin_.resize(cos_.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      const double angle =
          static_cast<double>(first + static_cast<std::int64_t>(i)) * frequencies_.per_position[pair];
      cos_[i * pairs + pair] = static_cast<float>(frequencies_.magnitude * std::cos(angle));
      sin_[i * pairs + pair] = static_cast<float>(frequencies_.magnitude * std::sin(angle));
    }
  }
}

void RopeTable::turn(std::int64_t index, float* heads, std::int64_t head_count,
                     std::int64_t head_width) const {
  const std::int64_t pairs = rope_.features / 2;
  const float* const cosine = cos_.data() + index * pairs;
  const float* const sine = sin_.data() + index * pairs;
  const bool halves = rope_.pairs == RotationPairs::halves;
  const std::int64_t step = halves ? 1 : 2, apart = halves ? pairs : 1;
  for (std::int64_t head = 0; head < head_count; ++head) {
    float* const features = heads + head * head_width;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      float& x = features[pair * step];
      float& y = features[pair * step + apart];
      const float turned = x * cosine[pair] - y * sine[pair];
      y = y * cosine[pair] + x * sine[pair];
      x = turned;
    }
  }
}

}  // namespace sharpmax::model
