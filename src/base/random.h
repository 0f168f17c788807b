// Random numbers by counter: the value at (seed, stream, index) depends on nothing else, so any
// split over threads or machines draws the same ones. Philox 4x32-10 of Random123.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace sharpmax {

class CounterRandom {
 public:
  CounterRandom(std::uint64_t seed, std::uint64_t stream) : stream_(stream) {
    key_[0] = static_cast<std::uint32_t>(seed);
    key_[1] = static_cast<std::uint32_t>(seed >> 32);
  }

  std::array<std::uint32_t, 4> bits(std::uint64_t index) const {
    r123::Philox4x32::ctr_type counter;
    counter[0] = static_cast<std::uint32_t>(index);
    counter[1] = static_cast<std::uint32_t>(index >> 32);
    counter[2] = static_cast<std::uint32_t>(stream_);
    counter[3] = static_cast<std::uint32_t>(stream_ >> 32);
    const auto r = r123::Philox4x32{}(counter, key_);
    return {r[0], r[1], r[2], r[3]};
  }

  // Four independent draws of N(0, 1), by Box and Muller; tails to 6.7 standard deviations.
  std::array<float, 4> normals(std::uint64_t index) const {
    const auto r = bits(index);
    std::array<float, 4> out;
    for (std::size_t i = 0; i < 4; i += 2) {
      const double radius = std::sqrt(-2.0 * std::log((r[i] + 0.5) * 0x1p-32));
      const double angle = 2.0 * std::numbers::pi * (r[i + 1] * 0x1p-32);
      out[i] = static_cast<float>(radius * std::cos(angle));
      out[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
    return out;
  }

 private:
  r123::Philox4x32::key_type key_{};
  std::uint64_t stream_;
};

}  // namespace sharpmax
