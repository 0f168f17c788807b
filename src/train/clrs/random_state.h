// The random numbers of numpy.random.RandomState: MT19937 and the draws that the samplers of CLRS make, bit for bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sharpmax::train {

class RandomState {
 public:
  explicit RandomState(std::uint32_t seed) {
    for (std::size_t i = 0; i < kWords; ++i) {
      state_[i] = seed;
      seed = 1812433253u * (seed ^ (seed >> 30)) + static_cast<std::uint32_t>(i) + 1;
    }
  }

  // In [0, 1), 53 bits.
  double unit() {
    const std::uint32_t high = next() >> 5, low = next() >> 6;
    return (high * 67108864.0 + low) / 9007199254740992.0;
  }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  // Of [0, bound), by masks and rejection; nothing is drawn if there is one value.
  std::int64_t below(std::int64_t bound) {
    const auto most = static_cast<std::uint32_t>(bound - 1);
    if (most == 0) return 0;
    std::uint32_t mask = most;
    for (const int shift : {1, 2, 4, 8, 16}) mask |= mask >> shift;
    std::uint32_t value;
    do value = next() & mask;
    while (value > most);
    return value;
  }
  // binomial(1, 0.5), by inversion.
  bool coin() { return unit() > 0.5; }

 private:
  static constexpr std::size_t kWords = 624, kMiddle = 397;

  std::uint32_t next() {
    if (at_ == kWords) refill();
    std::uint32_t y = state_[at_++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  void refill() {
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint32_t y = (state_[i] & 0x80000000u) | (state_[(i + 1) % kWords] & 0x7fffffffu);
      state_[i] = state_[(i + kMiddle) % kWords] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
    }
    at_ = 0;
  }

  std::array<std::uint32_t, kWords> state_{};
  std::size_t at_ = kWords;
};

}  // namespace sharpmax::train
